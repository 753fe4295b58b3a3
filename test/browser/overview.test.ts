// The overview, as people meet it: empty, alive with sample traffic, on a bad day, on a calm one, and without a store.
import type { Browser, BrowserContext, Locator, Page } from '@playwright/test'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { STATES, type State } from '../../lib/idempotency/states'
import { planned, samplePlan } from '../../lib/traffic/plan'
import { complaints, dress, expect, expectToFit, openBrowser, signedIn, violations } from '../support/browser'
import { freshKey, orderBody, SECRETS } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { BUSY, fillBusyDay } from './busy-day'
import { hire } from './key-desk'
import { withoutDatabase } from './outage'

const ADMIN = { email: 'admin@example.com', password: 'the password of the admin' }
const ENVIRONMENT = { ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password }
/** The page asks again every five seconds. */
const LIVE = { timeout: 30_000 }
/** A portion of traffic takes three quarters of a minute, and what times out a little longer. */
const TRAFFIC = { timeout: 120_000 }

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

const opened: { page: Page; heard: string[] }[] = []
async function open(context: BrowserContext, path = '/'): Promise<Page> {
  const page = await context.newPage()
  opened.push({ page, heard: complaints(page) })
  await page.goto(path)
  return page
}
afterEach(async () => {
  for (const { page, heard } of opened.splice(0)) {
    await page.close()
    expect(heard).toEqual([])
  }
})

const WORDS: Record<State, string> = {
  pending: 'Pending',
  in_progress: 'In progress',
  completed: 'Completed',
  failed_retryable: 'Failed, retryable',
  unknown: 'Unknown',
  expired: 'Expired',
}
const mapOf = (page: Page): Locator => page.getByRole('figure', { name: 'State map' })
const nodeOf = (page: Page, state: State): Locator =>
  mapOf(page).getByRole('link', { name: new RegExp(`^${WORDS[state]} (≈ )?\\d`) })
const counted = (state: State, count: number): RegExp => new RegExp(`^${WORDS[state]} ${count}( |$)`)
const figureOf = (page: Page, name: string): Locator => page.getByRole('figure', { name })

async function countsIn(databaseUrl: string): Promise<Record<State, number>> {
  const rows = await runSql<{ state: State; n: number }>(
    databaseUrl,
    'SELECT state, count(*)::int AS n FROM idempotency_records GROUP BY state',
  )
  const counts = new Map(rows.map(({ state, n }) => [state, n]))
  return Object.fromEntries(STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<State, number>
}

/** A site that is empty at first. Sample traffic fills it while the other days are looked at: it takes its time. */
let site: Site
let admin: BrowserContext
let watching: { page: Page; heard: string[]; sent: Promise<unknown> }
beforeAll(async () => {
  site = await openSite({ ...QUICK_PROVIDER, ...ENVIRONMENT })
  admin = await signedIn(browser, site.url, ADMIN)
})
afterAll(() => site?.close())

describe('the overview on the first visit', () => {
  let viewer: BrowserContext
  beforeAll(async () => {
    viewer = await signedIn(browser, site.url, await hire(site.url, 'viewer', 'Vera Sol'))
  })

  test('shows how to send the first request, without the API key', async () => {
    const page = await open(admin)
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
    await expect(page.getByText('No keys yet. Send the first request.')).toBeVisible()
    await expect(page.getByText(`curl -i ${site.url}/api/orders`)).toBeVisible()
    await expect(page.getByText('It was printed at the first start.')).toBeVisible()
    expect(await page.content()).not.toContain(SECRETS.DEMO_API_KEY)
    await expect(mapOf(page).getByText('one owner holds')).toBeVisible()
    await expect(page.getByRole('group', { name: 'Window' })).toHaveCount(0)
    for (const { words, requests } of planned(samplePlan()))
      await expect(page.locator('dl > div', { hasText: words }).locator('dd')).toHaveText(String(requests))
  })

  test('shows a viewer the sample traffic button as disabled, with the reason', async () => {
    const page = await open(viewer)
    const button = page.getByRole('button', { name: 'Send sample traffic' })
    await expect(button).toHaveAttribute('aria-disabled', 'true')
    await expect(button).toHaveAccessibleDescription('This takes the role operator; yours is viewer.')
    await button.click({ force: true })
    expect(await runSql(site.databaseUrl, 'SELECT 1 FROM runs')).toEqual([])
  })

  for (const theme of ['light', 'dark'] as const)
    test(`has no axe violations in the ${theme} theme, and fits wide and narrow screens`, async () => {
      const page = await open(admin)
      for (const width of [1440, 320]) {
        await dress(page, theme, width)
        await expect(page.getByText('No keys yet. Send the first request.')).toBeVisible()
        await expectToFit(page)
        expect(await violations(page)).toEqual([])
      }
    })

  test('fills with keys live while sample traffic is sent', async () => {
    const page = await admin.newPage()
    const heard = complaints(page)
    await page.goto('/')
    await page.getByRole('button', { name: 'Send sample traffic' }).click()
    await expect(page.getByRole('progressbar', { name: 'Sample traffic' })).toBeVisible()
    // It is said for a few seconds only.
    const sent = expect(page.getByText('Sample traffic sent.', { exact: true })).toBeVisible(TRAFFIC)
    watching = {
      page,
      heard,
      sent: sent.then(
        () => true,
        (error) => error,
      ),
    }
    await expect(page.getByText('No keys yet')).toHaveCount(0)
    for (const state of ['completed', 'failed_retryable', 'unknown'] as const)
      await expect(nodeOf(page, state)).not.toHaveAccessibleName(counted(state, 0), LIVE)
    // a second one has to wait
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Sample traffic…' }).click()
    const again = page.getByRole('dialog').getByRole('button', { name: 'Send sample traffic' })
    await expect(again).toHaveAccessibleDescription('Sample traffic is on its way.')
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toHaveCount(0)
  })
})

describe('the overview on a bad day', () => {
  let site: Site
  let admin: BrowserContext
  let viewer: BrowserContext
  beforeAll(async () => {
    site = await openSite({ ...QUICK_PROVIDER, ...ENVIRONMENT })
    const db = new pg.Pool({ connectionString: site.databaseUrl })
    await fillBusyDay(db)
    await db.end()
    const vera = await hire(site.url, 'viewer', 'Vera Sol')
    ;[admin, viewer] = await Promise.all([signedIn(browser, site.url, ADMIN), signedIn(browser, site.url, vera)])
  })
  afterAll(() => site?.close())

  test('names the main problem in one sentence', async () => {
    const page = await open(admin)
    await expect(page.getByText('Unknown keys are piling up: 186, usually 12.')).toBeVisible()
    await expect(page.getByText('Six things need attention.')).toBeVisible()
  })

  test('shows the database’s counts in the state map, each linked to its keys', async () => {
    const page = await open(admin)
    const counts = await countsIn(site.databaseUrl)
    for (const state of STATES) {
      await expect(nodeOf(page, state)).toHaveAccessibleName(counted(state, counts[state]))
      await expect(nodeOf(page, state)).toHaveAttribute('href', `/keys?state=${state}`)
    }
    await expect(nodeOf(page, 'unknown')).toHaveAccessibleName('Unknown 186 16× usual')
    await expect(mapOf(page).getByText(/^Piling up: \+\d+ in the last hour$/)).toBeVisible()
    const lost = mapOf(page).getByRole('link', { name: /^outcome lost [\d.]+\/min$/ })
    await expect(lost).toHaveAttribute('href', '/keys?state=unknown')
    await nodeOf(page, 'unknown').click()
    await page.waitForURL(/\/keys\?state=unknown/)
    await expect(page.getByRole('heading', { level: 1, name: 'Keys' })).toBeVisible()
  })

  test('lists what needs attention in order, each item linked to its rows', async () => {
    const page = await open(admin)
    const section = page.getByRole('region', { name: 'Needs attention' })
    await expect(section.getByRole('heading', { level: 3 })).toHaveText([
      `${BUSY.deadLetters} dead letters`,
      /^Oldest unknown is 6 h/,
      `${BUSY.expiredLeases} leases ran out`,
      /^Misuse at kestrel is \d+× its last day$/,
      `${BUSY.storms} keys are asked for again and again`,
      `${BUSY.discrepancies} open discrepancies`,
    ])
    await expect(section.getByText('Checked and quiet: store errors.')).toBeVisible()
    for (const [words, href] of [
      [`${BUSY.deadLetters} keys`, '/keys?deadLettered=true'],
      [`${BUSY.unknown} keys`, '/keys?state=unknown&sort=createdAt'],
      [`${BUSY.discrepancies} findings`, '/reconciliation?discrepancies=open'],
    ] as const)
      await expect(section.getByRole('link', { name: words, exact: true }).first()).toHaveAttribute('href', href)
    await section
      .getByRole('link', { name: `${BUSY.deadLetters} keys`, exact: true })
      .first()
      .click()
    await expect(page.getByRole('table', { name: 'Idempotency keys' }).locator('tbody tr')).toHaveCount(
      BUSY.deadLetters,
    )
  })

  test('draws every chart, and its Decisions table matches the database', async () => {
    const page = await open(admin)
    for (const name of [
      'Decisions',
      'Latency',
      'Misuse',
      'Replay ratio',
      'Zombies and late results',
      'Oldest unknown and time to resolution',
    ]) {
      await expect(figureOf(page, name)).toBeVisible()
      await expect(figureOf(page, name).locator('svg.recharts-surface').first()).toBeVisible()
    }
    await page.getByRole('button', { name: 'Decisions as a table' }).click()
    const table = page.getByRole('table', { name: 'Decisions' })
    await expect(table.locator('tbody tr')).toHaveCount(60)
    const shown = await table
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent ?? '')))
    const stored = await runSql<{ at: string; metric: string; value: number }>(
      site.databaseUrl,
      `SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI') AS at, metric, sum(value)::float8 AS value FROM metric_minutes
       WHERE bucket = '' AND at > now() - interval '61 minutes' GROUP BY 1, 2`,
    )
    const storedAt = (at: string, metric: string) =>
      stored.find((row) => row.at === at && row.metric === metric)?.value ?? 0
    for (const [at = '', ...cells] of shown.slice(1, -1))
      expect(cells.map((cell) => Number(cell.replaceAll(',', '')))).toEqual(
        ['created', 'replay', 'in_progress', 'failed_retry', 'key_misuse', 'unknown'].map((name) =>
          storedAt(at, `reserve_${name}`),
        ),
      )
    await expect(table.getByRole('link').first()).toHaveAttribute('href', /\/keys\?createdFrom=.*&createdTo=/)
    await page.getByRole('button', { name: 'Decisions as a table' }).click()
    await expect(table).toHaveCount(0)
  })

  test('names the minute under the pointer in a chart, and a click opens its keys', async () => {
    const page = await open(admin)
    const plot = figureOf(page, 'Decisions').locator('svg.recharts-surface').first()
    await plot.hover()
    await expect(
      figureOf(page, 'Decisions')
        .getByText(/^\d\d:\d\d UTC/)
        .first(),
    ).toBeVisible()
    await plot.click()
    await page.waitForURL(/\/keys\?createdFrom=/)
  })

  test('keeps the chosen window, tenant and endpoint in the URL', async () => {
    const page = await open(admin)
    await page.getByRole('group', { name: 'Window' }).getByRole('link', { name: '24 h' }).click()
    await page.waitForURL('**/?window=24h')
    await expect(page.getByRole('region', { name: 'The last day' })).toBeVisible()
    await page.getByRole('button', { name: 'Tenant All' }).click()
    await page.getByRole('menuitem', { name: 'kestrel' }).click()
    await page.waitForURL('**/?window=24h&tenant=kestrel')
    await expect(nodeOf(page, 'unknown')).toHaveAccessibleName(counted('unknown', 0), LIVE)
    await expect(nodeOf(page, 'failed_retryable')).toHaveAccessibleName(
      counted('failed_retryable', BUSY.failed_retryable),
    )
    await expect(nodeOf(page, 'unknown')).toHaveAttribute('href', '/keys?state=unknown&tenant=kestrel')
    await page.getByRole('button', { name: 'Endpoint All' }).click()
    await page.getByRole('menuitem', { name: 'POST /api/orders/{id}/refunds' }).click()
    await page.waitForURL(/endpoint=/)
    await expect(nodeOf(page, 'failed_retryable')).toHaveAccessibleName(counted('failed_retryable', 0), LIVE)
    await page.goBack()
    await expect(nodeOf(page, 'failed_retryable')).not.toHaveAccessibleName(counted('failed_retryable', 0), LIVE)
  })

  test('shows times in the chosen time zone', async () => {
    const page = await open(admin)
    await page.getByRole('button', { name: 'Latency as a table' }).click()
    const first = page
      .getByRole('table', { name: /^Latency/ })
      .getByRole('link')
      .first()
    const inUtc = await first.innerText()
    await page.getByRole('button', { name: 'Local' }).click()
    await expect(page.getByRole('table', { name: 'Latency, Europe/Berlin' })).toBeVisible(LIVE)
    const [hour, minute] = inUtc.split(':').map(Number)
    const local = (await first.innerText()).split(':').map(Number)
    expect((local[0]! * 60 + local[1]! - hour! * 60 - minute! + 1440) % 1440).toBeGreaterThanOrEqual(60)
    await page.getByRole('button', { name: 'UTC' }).click()
    await expect(page.getByRole('table', { name: 'Latency, UTC' })).toBeVisible(LIVE)
  })

  test('is readable for a viewer, who can’t send sample traffic', async () => {
    const page = await open(viewer)
    await expect(page.getByText('Unknown keys are piling up: 186, usually 12.')).toBeVisible()
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Sample traffic…' }).click()
    const button = page.getByRole('dialog').getByRole('button', { name: 'Send sample traffic' })
    await expect(button).toHaveAccessibleDescription('This takes the role operator; yours is viewer.')
    await button.click({ force: true })
    expect(await runSql(site.databaseUrl, `SELECT 1 FROM runs WHERE kind = 'traffic'`)).toEqual([])
  })

  test('lets the keyboard open a state’s keys and switch a chart to its table', async () => {
    const page = await open(admin)
    await expect(nodeOf(page, 'unknown')).toBeVisible()
    await nodeOf(page, 'unknown').focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/keys\?state=unknown/)
    await page.goBack()
    const toggle = page.getByRole('button', { name: 'Misuse as a table' })
    await toggle.focus()
    await page.keyboard.press('Space')
    await expect(toggle).toHaveAttribute('aria-pressed', 'true')
    await expect(page.getByRole('table', { name: /^Misuse/ })).toBeVisible()
  })

  for (const theme of ['light', 'dark'] as const)
    test(`has no axe violations in the ${theme} theme, with a chart as a table, and fits wide and narrow screens`, async () => {
      const page = await open(admin)
      await dress(page, theme, 1440)
      await expect(figureOf(page, 'Misuse').locator('svg.recharts-surface')).toBeVisible()
      expect(await violations(page)).toEqual([])
      await page.getByRole('button', { name: 'Latency as a table' }).click()
      await expect(page.getByRole('table', { name: /^Latency/ })).toBeVisible()
      for (const width of [1440, 320, 1920]) {
        await dress(page, theme, width)
        await expect(nodeOf(page, 'unknown')).toBeVisible()
        await expectToFit(page)
        expect(await violations(page)).toEqual([])
      }
    })
})

describe('the overview on a calm day', () => {
  let site: Site
  let admin: BrowserContext
  beforeAll(async () => {
    site = await openSite({ ...QUICK_PROVIDER, ...ENVIRONMENT })
    expect((await site.client.order(freshKey(), orderBody())).status).toBe(201)
    admin = await signedIn(browser, site.url, ADMIN)
  })
  afterAll(() => site?.close())

  test('says that nothing needs attention, and lists its checks', async () => {
    const page = await open(admin)
    await expect(page.getByText('Nothing needs attention.')).toBeVisible()
    await expect(page.getByText('All seven checks are quiet. No outcome is unknown.')).toBeVisible()
    const checks = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')
    await expect(checks).toHaveCount(7)
    await expect(nodeOf(page, 'completed')).toHaveAccessibleName(counted('completed', 1))
  })

  test('shows an alert while the database is unreachable, keeps the chosen window, and recovers by itself', async () => {
    const page = await admin.newPage()
    await page.goto('/?window=24h')
    await withoutDatabase(site, async () => {
      await page.reload()
      await expect(page.getByRole('alert').first()).toContainText('can’t be read just now')
      await expect(page.getByRole('group', { name: 'Window' }).getByRole('link', { name: '24 h' })).toHaveAttribute(
        'aria-current',
        'true',
      )
    })
    await expect(page.getByText('Nothing needs attention.')).toBeVisible(LIVE)
    await page.close()
  })
})

describe('the sample traffic', () => {
  test(
    'makes every kind of decision, and leaves no API key of its own active',
    async () => {
      const { page, heard, sent } = watching
      expect(await sent).toBe(true)
      await expect(page.getByRole('progressbar', { name: 'Sample traffic' })).toHaveCount(0)
      await expect(async () => {
        const counts = await countsIn(site.databaseUrl)
        for (const state of STATES)
          await expect(nodeOf(page, state)).toHaveAccessibleName(counted(state, counts[state]), { timeout: 100 })
      }).toPass(LIVE)
      const [run] = await runSql<{ state: string; done: number }>(
        site.databaseUrl,
        `SELECT state, done FROM runs WHERE kind = 'traffic'`,
      )
      expect(run).toMatchObject({ state: 'succeeded' })
      expect(
        await runSql(site.databaseUrl, `SELECT 1 FROM api_keys WHERE name = 'sample traffic' AND revoked_at IS NULL`),
      ).toEqual([])
      // every decision that the charts tell apart was made
      const totals = figureOf(page, 'Decisions').getByRole('listitem')
      for (const word of ['Created', 'Replay', 'In progress', 'Retry', 'Misuse', 'Unknown'])
        await expect(totals.filter({ hasText: word })).not.toHaveText(`${word}0`, LIVE)
      await page.close()
      expect(heard).toEqual([])
    },
    TRAFFIC.timeout + 60_000,
  )

  test('can be sent again and stopped', async () => {
    const page = await open(admin)
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Sample traffic…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send sample traffic' }).click()
    await expect(page.getByRole('dialog')).toHaveCount(0)
    const progress = page.getByRole('region', { name: 'Sample traffic' })
    await progress.getByRole('button', { name: 'Stop' }).click(LIVE)
    await expect(page.getByText('Sample traffic stopped.', { exact: true })).toBeVisible(LIVE)
    const runs = await runSql<{ state: string }>(
      site.databaseUrl,
      `SELECT state FROM runs WHERE kind = 'traffic' ORDER BY started_at`,
    )
    expect(runs.map(({ state }) => state)).toEqual(['succeeded', 'aborted'])
  })
})
