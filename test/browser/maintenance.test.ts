// Maintenance, as an operator on call uses it: count, decide, run, watch, stop, look back.
import type { Browser, Locator, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { newId } from '../../lib/db/id'
import { dress, expect, expectToFit, LOOKS, openBrowser, violations } from '../support/browser'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { auditOf, type Desk, dialogOf, type Hired, hire, place, placeUnknown, sit } from './key-desk'
import { withoutDatabase } from './outage'

const NAMES = ['Sweeper', 'Reaper', 'Reconciler', 'Ledger comparison']

let site: Site
let browser: Browser
let mara: Hired
let vera: Hired
let desk: Desk
let page: Page

beforeAll(async () => {
  ;[site, browser] = await Promise.all([openSite(QUICK_PROVIDER), openBrowser()])
  mara = await hire(site.url, 'operator', 'Mara Lindqvist')
  vera = await hire(site.url, 'viewer', 'Vera Sol')
  desk = await sit(browser, site.url, mara)
  page = desk.page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const cardOf = (name: string, on: Page = page): Locator => on.getByRole('region', { name })
const sql = <Row = Record<string, unknown>>(text: string, values: unknown[] = []) =>
  runSql<Row>(site.databaseUrl, text, values)
const runsOf = (kind: string) =>
  sql<{ id: string; dry_run: boolean; done: number; reason: string | null; requested_by: string }>(
    'SELECT id, dry_run, done, reason, requested_by FROM runs WHERE kind = $1 ORDER BY started_at',
    [kind],
  )

/** Completed, and past their retention. */
async function outlived(count: number): Promise<string[]> {
  const made = await Promise.all(Array.from({ length: count }, () => place(site)))
  const ids = made.map(({ id }) => id)
  await sql(`UPDATE idempotency_records SET expires_at = now() - interval '1 minute' WHERE id = ANY($1)`, [ids])
  return ids
}

async function running(done: number): Promise<string> {
  const id = newId('run')
  await sql(
    `INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, reason, state, done, total, counts, sample, heartbeat_at)
     VALUES ($1, 'sweeper', false, false, $2, 'After the outage.', 'running', $3::int, 186, $4, '{}', now() + interval '1 hour')`,
    [id, mara.id, done, { leasesOver: done, unknown: done }],
  )
  return id
}
const end = (id: string, done: number) =>
  sql(`UPDATE runs SET state = 'succeeded', done = $2::int, counts = $3, finished_at = now() WHERE id = $1`, [
    id,
    done,
    { leasesOver: done, unknown: done },
  ])

test('the maintenance page lists all four daemons, and shows which are off and which never ran', async () => {
  await page.goto('/maintenance')
  await expect(page.getByRole('heading', { level: 1, name: 'Maintenance' })).toBeVisible()
  for (const name of NAMES) {
    await expect(cardOf(name)).toContainText('not yet')
    await expect(cardOf(name)).toContainText('off')
    await expect(cardOf(name).getByRole('img', { name: /it has not run yet/ })).toBeVisible()
    await expect(cardOf(name).getByRole('button', { name: 'Dry run' })).toBeEnabled()
    await expect(cardOf(name).getByRole('button', { name: 'Run now' })).toBeEnabled()
  }
  await expect(page.getByRole('main').getByText('No run has found anything to do yet.')).toBeVisible()
  expect(await violations(page)).toEqual([])
})

describe('a dry run', () => {
  test('counts keys by rule, lists them, and changes nothing', async () => {
    const ids = await outlived(3)
    await page.goto('/maintenance')
    const card = cardOf('Reaper')
    await card.getByRole('button', { name: 'Dry run' }).click()
    await expect(page.getByText('3 keys would be touched, none was.').first()).toBeVisible()
    await expect(card.getByRole('heading', { name: 'Dry run: 3 keys' })).toBeVisible()
    await expect(card).toContainText('Nothing was changed.')
    const row = card.getByRole('row', { name: /Completed/ })
    await expect(row).toContainText('state = completed and expiresAt <= now')
    await expect(row).toContainText('demo 3')
    expect(await sql('SELECT DISTINCT state FROM idempotency_records WHERE id = ANY($1)', [ids])).toEqual([
      { state: 'completed' },
    ])
    const [run] = await runsOf('reaper')
    expect(run).toMatchObject({ dry_run: true, done: 3, requested_by: mara.id })
    expect(await auditOf(site.databaseUrl, run!.id)).toMatchObject([{ actor_id: mara.id, action: 'reaper.run' }])

    await card.getByRole('link', { name: 'Open all 3' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Reaper, dry run' })).toBeVisible()
    await expect(page.getByRole('table', { name: 'Keys of this run' }).getByRole('row')).toHaveCount(4)
    await page.goBack()
    await expect(card.getByRole('heading', { name: 'Dry run: 3 keys' })).toBeVisible()
    await card.getByRole('link', { name: 'Dismiss' }).click()
    await expect(card.getByRole('heading', { name: 'Dry run: 3 keys' })).toBeHidden()
  })
})

describe('a maintenance run', () => {
  test('shows its dry-run count before it starts, takes a reason, and reports the difference from that count', async () => {
    const ids = await outlived(2)
    await page.goto('/maintenance')
    const card = cardOf('Reaper')
    await sql(`DELETE FROM runs`)
    await card.getByRole('button', { name: 'Run now' }).click()
    const dialog = dialogOf(page)
    await expect(dialog.getByRole('heading', { name: 'Run the reaper now' })).toBeVisible()
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused()
    await expect(dialog.getByText('5 keys will be expired or deleted.')).toBeVisible()
    await dialog.getByLabel('Reason').fill('Disk at 80 %.')
    // One more meanwhile: what happens differs from what was counted.
    await outlived(1)
    await dialog.getByRole('button', { name: 'Run now' }).click()
    await expect(card.getByRole('heading', { name: 'Finished: 6 keys' })).toBeVisible()
    await expect(card).toContainText('1 more than the dry run counted')
    expect(await sql('SELECT DISTINCT state FROM idempotency_records WHERE id = ANY($1)', [ids])).toEqual([
      { state: 'expired' },
    ])
    const [preview, run] = await runsOf('reaper')
    expect(preview).toMatchObject({ dry_run: true, done: 5 })
    expect(run).toMatchObject({ dry_run: false, done: 6, reason: 'Disk at 80 %.', requested_by: mara.id })
    expect(await auditOf(site.databaseUrl, run!.id)).toMatchObject([{ reason: 'Disk at 80 %.' }])
    const history = page.getByRole('table', { name: 'History' })
    const cells = history.getByRole('row', { name: /Reaper/ }).getByRole('cell')
    await expect(cells.nth(2)).toHaveText('Mara Lindqvist')
    await expect(cells.nth(4)).toHaveText('6')
    await expect(cells.nth(5)).toHaveText('1 more')
    await expect(cells.nth(7)).toHaveText('Disk at 80 %.')
  })

  test('reuses a dry run of the last minute for its count', async () => {
    await page.goto('/maintenance')
    await cardOf('Sweeper').getByRole('button', { name: 'Dry run' }).click()
    await expect(cardOf('Sweeper').getByRole('heading', { name: 'Dry run: 0 keys' })).toBeVisible()
    await cardOf('Sweeper').getByRole('button', { name: 'Run now' }).click()
    await expect(dialogOf(page).getByText('0 keys will be moved on.')).toBeVisible()
    await page.keyboard.press('Escape')
    expect(await runsOf('sweeper')).toHaveLength(1)
  })

  test('of the reconciler asks the provider, and shows the outcome for the keys', async () => {
    await placeUnknown(site)
    await sql(`UPDATE idempotency_records SET reconcile_after = now() WHERE state = 'unknown'`)
    await page.goto('/maintenance')
    const card = cardOf('Reconciler')
    await card.getByRole('button', { name: 'Run now' }).click()
    await expect(dialogOf(page).getByText('The provider will be asked about 1 key.')).toBeVisible()
    await dialogOf(page).getByRole('button', { name: 'Run now' }).click()
    await expect(card.getByRole('heading', { name: 'Finished: 1 key' })).toBeVisible()
    await expect(card).toContainText('As many as the dry run counted.')
    await expect(card).toContainText('1 without an answer')
  })

  test('of the ledger comparison counts findings instead of keys', async () => {
    await page.goto('/maintenance')
    const card = cardOf('Ledger comparison')
    await card.getByRole('button', { name: 'Run now' }).click()
    await expect(dialogOf(page).getByText('0 findings will be listed.')).toBeVisible()
    await dialogOf(page).getByRole('button', { name: 'Run now' }).click()
    await expect(card.getByRole('heading', { name: 'Finished: 0 findings' })).toBeVisible()
  })

  test('that is in progress is shown after navigation, updates without a reload, and announces its end', async () => {
    const id = await running(112)
    await page.goto('/tenants')
    await page.goto('/maintenance')
    const card = cardOf('Sweeper')
    await expect(card.getByRole('heading', { name: 'Running: 112 of 186' })).toBeVisible()
    await expect(card).toContainText('by Mara Lindqvist: “After the outage.”')
    await expect(card.getByRole('button', { name: 'Running' })).toBeDisabled()
    await expect(card.getByRole('progressbar')).toHaveAttribute('aria-valuenow', '112')
    await sql(`UPDATE runs SET done = 150, counts = '{"leasesOver": 150, "unknown": 150}' WHERE id = $1`, [id])
    await expect(card.getByRole('heading', { name: 'Running: 150 of 186' })).toBeVisible()
    await end(id, 186)
    await expect(card.getByRole('heading', { name: 'Finished: 186 keys' })).toBeVisible()
    await expect(page.getByText('Sweeper finished.').first()).toBeVisible()
    await expect(card.getByRole('button', { name: 'Run now' })).toBeEnabled()
  })

  test('is stopped after its current batch by an operator', async () => {
    const id = await running(10)
    await page.goto('/maintenance')
    await cardOf('Sweeper').getByRole('button', { name: 'Stop after this batch' }).click()
    await expect(cardOf('Sweeper')).toContainText('It stops after this batch.')
    expect(await sql('SELECT abort_requested FROM runs WHERE id = $1', [id])).toEqual([{ abort_requested: true }])
    expect(await auditOf(site.databaseUrl, id)).toMatchObject([{ actor_id: mara.id, action: 'run.abort' }])
    await sql(`UPDATE runs SET state = 'aborted', finished_at = now() WHERE id = $1`, [id])
    await expect(cardOf('Sweeper').getByRole('heading', { name: /^Stopped after/ })).toBeVisible()
  })
})

describe('the pages of all runs', () => {
  test('list the runs page by page, and keep the filter in the URL', async () => {
    await sql('DELETE FROM runs')
    await sql(
      `INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, state, done, counts, sample, started_at, finished_at)
       SELECT 'run_' || lpad(i::text, 26, '0'), 'sweeper', false, true, 'node-1', 'succeeded', 1, '{}', '{}',
         now() - i * interval '1 minute', now() FROM generate_series(0, 59) i`,
    )
    await end(await running(3), 3)
    await page.goto('/maintenance')
    await page.getByRole('link', { name: 'All runs' }).click()
    const rows = page.getByRole('table', { name: 'Runs' }).locator('tbody tr')
    await expect(rows).toHaveCount(50)
    await page.getByRole('link', { name: 'Older' }).click()
    await expect(rows).toHaveCount(11)
    await page.getByLabel('By', { exact: true }).selectOption('People and scripts')
    await expect(rows).toHaveCount(1)
    await expect(page).toHaveURL(/\?by=people$/)
    await expect(rows.first()).toContainText('After the outage.')
  })

  test('list the outcome of each key of a bulk run, page by page', async () => {
    const made = await placeUnknown(site)
    const id = newId('run')
    await sql(
      `INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, reason, state, done, total, counts, sample, finished_at)
       VALUES ($1, 'bulk', false, false, $2, 'The provider is back.', 'succeeded', 130, 130, '{"lookUps": 130}', '{}', now())`,
      [id, mara.id],
    )
    await sql(
      `INSERT INTO run_items (run_id, position, record_id, outcome, done_at)
       SELECT $1, n, CASE WHEN n = 1 THEN $2 ELSE 'idem_' || lpad(n::text, 26, '0') END,
         '{"verdict": "unreachable", "state": "unknown", "settled": false}', now() FROM generate_series(1, 130) n`,
      [id, made.id],
    )
    await page.goto(`/maintenance/runs/${id}`)
    await expect(page.getByRole('heading', { level: 1, name: 'Bulk look-up' })).toBeVisible()
    const rows = page.getByRole('table', { name: 'Keys of this run' }).locator('tbody tr')
    await expect(rows).toHaveCount(100)
    await expect(rows.first()).toContainText('No answer, nothing changed')
    await expect(rows.nth(1)).toContainText('Deleted, nothing of it is kept')
    await expect(rows.first().getByRole('link', { name: made.key })).toHaveAttribute('href', `/keys/${made.id}`)
    await page.getByRole('link', { name: 'Next' }).click()
    await expect(rows).toHaveCount(30)
  })

  test('are 404 for a run that does not exist', async () => {
    const missing = await page.goto(`/maintenance/runs/${newId('run')}`)
    expect(missing?.status()).toBe(404)
    desk.complaints.length = 0
  })
})

test('the dialog of a maintenance run is opened and cancelled with the keyboard alone', async () => {
  await page.goto('/maintenance')
  await cardOf('Sweeper').getByRole('button', { name: 'Run now' }).focus()
  await page.keyboard.press('Enter')
  await expect(dialogOf(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(dialogOf(page)).toBeHidden()
  await expect(cardOf('Sweeper').getByRole('button', { name: 'Run now' })).toBeFocused()
})

test('a viewer sees on the maintenance page why runs are disabled, and can start none', async () => {
  await running(5)
  const seat = await sit(browser, site.url, vera)
  await seat.page.goto('/maintenance')
  await expect(
    seat.page.getByRole('main').getByText('Dry runs and runs take the role operator; yours is viewer.'),
  ).toBeVisible()
  for (const name of ['Dry run', 'Stop after this batch'])
    await expect(cardOf('Sweeper', seat.page).getByRole('button', { name })).toBeDisabled()
  for (const name of ['Reaper', 'Reconciler', 'Ledger comparison'])
    for (const button of ['Dry run', 'Run now']) {
      const off = cardOf(name, seat.page).getByRole('button', { name: button })
      await expect(off).toBeDisabled()
      await off.click({ force: true })
    }
  await expect(dialogOf(seat.page)).toBeHidden()
  expect(await sql('SELECT id FROM runs WHERE requested_by = $1', [vera.id])).toEqual([])
  expect(await violations(seat.page)).toEqual([])
  expect(seat.complaints).toEqual([])
  await seat.context.close()
})

test('while the database is unreachable, the maintenance page says so in each section, and recovers without a reload', async () => {
  // A page that looks by itself complains of what it finds.
  await page.goto('about:blank')
  const seat = await sit(browser, site.url, mara)
  await seat.page.goto('/maintenance')
  await expect(cardOf('Reaper', seat.page)).toBeVisible()
  await withoutDatabase(site, async () => {
    await expect(seat.page.getByRole('main').getByText('How the four stand can’t be read just now.')).toBeVisible()
    await expect(seat.page.getByRole('main').getByText('The history can’t be read just now.')).toBeVisible()
    await expect(seat.page.getByRole('heading', { level: 1, name: 'Maintenance' })).toBeVisible()
  })
  await expect(cardOf('Reaper', seat.page)).toBeVisible({ timeout: 20_000 })
  await seat.context.close()
})

test.each(LOOKS)('the maintenance pages pass axe and fit the viewport: %s, %d px', async (theme, width) => {
  await dress(page, theme, width)
  for (const path of ['/maintenance', '/maintenance/runs']) {
    await page.goto(path)
    await expect(page.getByRole('table').first()).toBeVisible()
    expect(await violations(page)).toEqual([])
    await expectToFit(page)
  }
  await page.goto('/maintenance')
  await cardOf('Reaper').getByRole('button', { name: 'Dry run' }).click()
  await expect(cardOf('Reaper').getByRole('heading', { name: /^Dry run:/ })).toBeVisible({ timeout: 20_000 })
  await cardOf('Reaper').getByRole('button', { name: 'Run now' }).click()
  await expect(dialogOf(page).getByText(/will be expired or deleted/)).toBeVisible()
  expect(await violations(page)).toEqual([])
})

test('the maintenance pages cause no browser console errors', () => {
  expect(desk.complaints).toEqual([])
})
