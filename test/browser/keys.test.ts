// The page of keys, as people use it: find, read, select, act, share.
import { readFile } from 'node:fs/promises'
import type { Browser, BrowserContext, Locator, Page } from '@playwright/test'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { fillRecords } from '../console/many-records'
import { complaints, dress, expect, expectToFit, openBrowser, signedIn, violations } from '../support/browser'
import { ADMIN_TOKEN, freshKey, orderBody, send } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { tryAgain, withoutDatabase } from './outage'

const ADMIN = { email: 'admin@example.com', password: 'the password of the admin' }
const VIEWER = { email: 'viewer@example.com', password: 'the password of the viewer' }
const RECORDS = 4000
/** The page looks for new rows every five seconds. */
const LIVE = { timeout: 30_000 }

let site: Site
let browser: Browser
let admin: BrowserContext
let viewer: BrowserContext
beforeAll(async () => {
  ;[site, browser] = await Promise.all([
    openSite({ ...QUICK_PROVIDER, ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password }),
    openBrowser(),
  ])
  const made = await send(`${site.url}/api/admin/operators`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: { name: 'Vera Viewer', role: 'viewer', ...VIEWER },
  })
  if (made.status !== 201) throw new Error(made.bytes.toString())
  ;[admin, viewer] = await Promise.all([signedIn(browser, site.url, ADMIN), signedIn(browser, site.url, VIEWER)])
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const pages: { page: Page; heard: string[] }[] = []
async function open(path: string, context = admin): Promise<Page> {
  const page = await context.newPage()
  pages.push({ page, heard: complaints(page) })
  await page.goto(path)
  return page
}
afterEach(async () => {
  for (const { page, heard } of pages.splice(0)) {
    await page.close()
    expect(heard).toEqual([])
  }
})

const tableOf = (page: Page): Locator => page.getByRole('table', { name: 'Idempotency keys' })
const rowsOf = (page: Page): Locator => tableOf(page).locator('tbody tr')
const searchOf = (page: Page): Locator => page.getByLabel('Search keys')
const tabOf = (page: Page, name: RegExp): Locator =>
  page.getByRole('navigation', { name: 'States' }).getByRole('link', { name })
const idsOf = (page: Page): Promise<(string | null)[]> =>
  rowsOf(page).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-row')))

async function search(page: Page, text: string): Promise<void> {
  await searchOf(page).fill(text)
  await searchOf(page).press('Enter')
}

describe('the keys page with an empty database', () => {
  test('links to the instructions for the first request', async () => {
    const page = await open('/keys')
    await expect(page.getByText('No keys yet. Send the first request.')).toBeVisible()
    await expect(page.getByRole('link', { name: 'How to send it' })).toHaveAttribute('href', '/')
    await expect(tabOf(page, /^All 0$/)).toHaveAttribute('aria-current', 'page')
  })
})

describe('the keys page with existing keys', () => {
  beforeAll(async () => {
    const db = new pg.Pool({ connectionString: site.databaseUrl })
    await fillRecords(db, RECORDS)
    await db.end()
  }, 60_000)

  const expected = async (condition: string, order = 'created_at DESC, id DESC'): Promise<string[]> => {
    const rows = await runSql<{ id: string }>(
      site.databaseUrl,
      `SELECT id FROM idempotency_records WHERE ${condition} ORDER BY ${order}`,
    )
    return rows.map(({ id }) => id)
  }

  test('shows the newest keys, exact counts on the tabs, and links to older and newer pages', async () => {
    const all = await expected('true')
    const page = await open('/keys')
    await expect(rowsOf(page)).toHaveCount(50)
    expect(await idsOf(page)).toEqual(all.slice(0, 50))
    await expect(tabOf(page, /^All 4,000$/)).toBeVisible()
    await expect(tabOf(page, new RegExp(`^Unknown ${(await expected(`state = 'unknown'`)).length}$`))).toBeVisible()
    await expect(page.getByText('4,000 keys. Newest first.')).toBeVisible()
    await expect(page.getByRole('button', { name: 'Newer' })).toBeDisabled()
    await page.getByRole('link', { name: 'Older' }).click()
    await page.waitForURL(/after=/)
    await expect.poll(() => idsOf(page)).toEqual(all.slice(50, 100))
    await page.getByRole('link', { name: 'Newer' }).click()
    await expect.poll(() => idsOf(page)).toEqual(all.slice(0, 50))
  })

  test('a tab filters by state, and the address carries filter and sort order', async () => {
    const page = await open('/keys')
    await tabOf(page, /^Unknown/).click()
    await page.waitForURL(/state=unknown/)
    await expect(searchOf(page)).toHaveValue('state:unknown')
    await expect.poll(() => idsOf(page)).toEqual(await expected(`state = 'unknown'`))
    await page.getByRole('link', { name: 'Next look-up' }).click()
    await page.waitForURL(/sort=reconcileAfter/)
    await expect(tableOf(page).getByRole('columnheader', { name: 'Next look-up' })).toHaveAttribute(
      'aria-sort',
      'ascending',
    )
    const sorted = await expected(`state = 'unknown'`, 'reconcile_after NULLS LAST, created_at DESC, id DESC')
    await expect.poll(() => idsOf(page)).toEqual(sorted)

    const colleague = await open(new URL(page.url()).pathname + new URL(page.url()).search, viewer)
    await expect(searchOf(colleague)).toHaveValue('state:unknown')
    await expect.poll(() => idsOf(colleague)).toEqual(sorted)
    await page.goBack()
    await expect.poll(() => idsOf(page)).toEqual(await expected(`state = 'unknown'`))
  })

  test('the search box takes a key, an order, a provider reference, a request id and qualifiers', async () => {
    const [one] = await runSql<{ id: string; key: string; request_id: string; order_id: string; provider_ref: string }>(
      site.databaseUrl,
      `SELECT r.id, r.key, r.request_id, o.id AS order_id, l.provider_ref FROM idempotency_records r
       JOIN orders o ON o.record_id = r.id JOIN ledger_entries l ON l.record_id = r.id
       WHERE NOT EXISTS (SELECT FROM refunds f WHERE f.order_id = o.id) LIMIT 1`,
    )
    const page = await open('/keys')
    for (const text of [
      one!.key,
      one!.id,
      one!.order_id,
      one!.provider_ref,
      one!.request_id,
      `order:${one!.order_id}`,
    ]) {
      await search(page, text)
      await page.waitForURL(({ searchParams }) => searchParams.get('q') === text)
      await expect.poll(() => idsOf(page), text).toEqual([one!.id])
    }
    await search(page, 'tenant:"tenant 0" state:failed error:time age:>1h')
    await expect(searchOf(page)).toHaveValue('state:failed_retryable tenant:"tenant 0" error:time age:>1h')
    const condition = `tenant_id = 'ten_00' AND state = 'failed_retryable' AND created_at < now() - interval '1 hour'`
    await expect.poll(() => idsOf(page)).toEqual((await expected(condition)).slice(0, 50))
    await page.reload()
    await expect(searchOf(page)).toHaveValue('state:failed_retryable tenant:"tenant 0" error:time age:>1h')
  })

  test('text typed while an earlier search loads stays in the box and is searched for next', async () => {
    const page = await open('/keys')
    let release = () => {}
    const typed = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/state=unknown/, async (route) => {
      await typed
      await route.continue()
    })
    const asked = page.waitForRequest(/state=unknown/)
    await search(page, 'state:unknown')
    await asked
    await searchOf(page).fill('state:completed')
    release()
    await page.waitForURL(/state=unknown/)
    await expect.poll(() => idsOf(page)).toEqual(await expected(`state = 'unknown'`))
    await expect(searchOf(page)).toHaveValue('state:completed')
    await searchOf(page).press('Enter')
    await page.waitForURL(/state=completed/)
    await expect(searchOf(page)).toHaveValue('state:completed')
  })

  test('an invalid search shows its error below the box and keeps the text and the rows', async () => {
    const page = await open('/keys?state=unknown')
    await expect(rowsOf(page).first()).toBeVisible()
    const before = await idsOf(page)
    await search(page, 'state:unknown age:10m my-key')
    await expect(page.getByText('age: needs > or <')).toBeVisible()
    await expect(searchOf(page)).toHaveValue('state:unknown age:10m my-key')
    await expect(searchOf(page)).toHaveAttribute('aria-invalid', 'true')
    expect(await idsOf(page)).toEqual(before)
  })

  test('the search box completes typed text by keyboard alone', async () => {
    const page = await open('/keys')
    await page.keyboard.press('/')
    await expect(searchOf(page)).toBeFocused()
    await page.keyboard.type('te')
    const options = page.getByRole('listbox').getByRole('option')
    await expect(options.first()).toHaveText(/^tenant:/)
    await page.keyboard.press('Tab')
    await expect(searchOf(page)).toHaveValue('tenant:')
    await expect(options.first()).toContainText('with this filter')
    // A value with a space in it is quoted for them.
    await page.keyboard.press('Tab')
    await expect(searchOf(page)).toHaveValue(/^tenant:"tenant \d+" $/)
    await searchOf(page).fill('')
    await page.keyboard.type('state:u')
    await page.keyboard.press('ArrowDown')
    await expect(searchOf(page)).toHaveAttribute('aria-activedescendant', /.+/)
    await page.keyboard.press('Enter')
    await expect(searchOf(page)).toHaveValue('state:unknown ')
    await page.keyboard.press('Enter')
    await page.waitForURL(/state=unknown/)
    await expect(searchOf(page)).toHaveValue('state:unknown')
    await page.keyboard.press('Backspace')
    await expect(searchOf(page)).toHaveValue('')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.search === '')
  })

  test('a search without matches offers a link that removes the part that matches nothing', async () => {
    const page = await open('/keys?q=tenant:nobody+state:unknown')
    await expect(page.getByText('No key matches.')).toBeVisible()
    await page.getByRole('link', { name: 'Without tenant:nobody' }).click()
    await expect.poll(() => idsOf(page)).toEqual(await expected(`state = 'unknown'`))
  })

  test('a hidden column stays hidden after a reload', async () => {
    const page = await open('/keys')
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Endpoint' }).click()
    await page.keyboard.press('Escape')
    await expect(tableOf(page).getByRole('columnheader', { name: 'Endpoint' })).toHaveCount(0)
    await page.reload()
    await expect(tableOf(page).getByRole('columnheader', { name: 'Order' })).toBeVisible()
    await expect(tableOf(page).getByRole('columnheader', { name: 'Endpoint' })).toHaveCount(0)
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Endpoint' }).click()
  })

  test('keyboard shortcuts move, select, open and show help, but do not act while text is typed', async () => {
    const page = await open('/keys')
    const [first, second] = await expected('true')
    await expect(rowsOf(page)).toHaveCount(50)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('x')
    await expect(page.locator(`[data-row="${first}"]`).getByRole('checkbox')).toBeChecked()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await expect(page.getByText('2 selected')).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(page.getByText('2 selected')).toHaveCount(0)
    await page.keyboard.press('?')
    await expect(page.getByRole('dialog', { name: 'Keyboard and search' })).toBeVisible()
    await page.keyboard.press('j')
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await page.keyboard.press('/')
    await page.keyboard.type('jx?')
    await expect(searchOf(page)).toHaveValue('jx?')
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await searchOf(page).press('Escape')
    await searchOf(page).press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/keys/${second}`)
  })

  test('Shift-click selects a range, the header checkbox the page, and a button all matching keys', async () => {
    const page = await open('/keys')
    await expect(rowsOf(page)).toHaveCount(50)
    await rowsOf(page).nth(2).getByRole('checkbox').click()
    await rowsOf(page)
      .nth(6)
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    await expect(page.getByText('5 selected')).toBeVisible()
    await page.getByLabel('Select all on this page').click()
    await expect(page.getByText('50 selected')).toBeVisible()
    await page.getByRole('button', { name: 'Select all 4,000 that match' }).click()
    await expect(page.getByText('4,000 selected')).toBeVisible()
    await rowsOf(page).first().getByRole('checkbox').click()
    await expect(page.getByText('49 selected')).toBeVisible()
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect(page.getByText(/\d selected/)).toHaveCount(0)
  })

  test('new rows are announced but not inserted while rows are selected, and appear on click', async () => {
    const page = await open('/keys')
    await expect(rowsOf(page)).toHaveCount(50)
    const before = await idsOf(page)
    await rowsOf(page).first().getByRole('checkbox').click()
    const key = freshKey()
    await site.client.order(key, orderBody())
    await expect(page.getByText('1 new. Updates wait while rows are selected.')).toBeVisible(LIVE)
    expect(await idsOf(page)).toEqual(before)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: '1 new' }).click()
    await expect(rowsOf(page).first()).toContainText(key)
    await expect(page.getByText('Live')).toBeVisible()
  })

  test('a row updates in place when its record changes state', async () => {
    const key = freshKey()
    await site.client.order(key, orderBody({ paymentMethod: 'pm_timeout_charged' }))
    const page = await open('/keys')
    const row = rowsOf(page).filter({ hasText: key })
    await expect(row).toContainText('Unknown')
    const [{ id }] = (await runSql<{ id: string }>(
      site.databaseUrl,
      'SELECT id FROM idempotency_records WHERE key = $1',
      [key],
    )) as [{ id: string }]
    await send(`${site.url}/api/admin/keys/${id}/reconcile`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })
    await expect(row).toContainText('Completed', LIVE)
  })

  test('asking the provider about selected keys settles them, and the page shows each result', async () => {
    const keys = [freshKey(), freshKey()]
    for (const key of keys) await site.client.order(key, orderBody({ paymentMethod: 'pm_timeout_charged' }))
    const page = await open('/keys?state=unknown')
    for (const key of keys) await page.getByLabel(`Select ${key}`).click()
    await page.getByRole('button', { name: 'Ask the provider' }).click()
    const dialog = page.getByRole('dialog', { name: 'Ask the provider about 2 keys' })
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused()
    await dialog.getByRole('button', { name: 'Ask the provider' }).click()
    await expect(dialog.getByText('Say why: the audit log keeps it.')).toBeVisible()
    await dialog.getByLabel('Reason').fill('The provider is back.')
    await dialog.getByRole('button', { name: 'Ask the provider' }).click()
    const panel = page.getByRole('region', { name: 'Bulk run' })
    await expect(panel.getByText('The provider was asked about 2 keys')).toBeVisible(LIVE)
    for (const key of keys)
      await expect(panel.getByRole('listitem').filter({ hasText: key })).toContainText('Settled: charged')
    const states = await runSql<{ state: string }>(
      site.databaseUrl,
      'SELECT state FROM idempotency_records WHERE key = ANY($1)',
      [keys],
    )
    expect(states).toEqual([{ state: 'completed' }, { state: 'completed' }])
    expect(
      await runSql(site.databaseUrl, `SELECT reason FROM audit_entries WHERE action = 'key.bulk' AND outcome = 'done'`),
    ).toEqual([{ reason: 'The provider is back.' }])
    await page.reload()
    await expect(panel.getByText('The provider was asked about 2 keys')).toBeVisible()
    await panel.getByRole('link', { name: 'Close' }).click()
    await expect(panel).toHaveCount(0)
  })

  test('a bulk run can be stopped before it has processed all keys', async () => {
    const page = await open('/keys?state=completed')
    await page.getByLabel('Select all on this page').click()
    await page.getByRole('button', { name: /^Select all .* that match$/ }).click()
    await page.getByRole('button', { name: 'Ask the provider' }).click()
    const dialog = page.getByRole('dialog', { name: /^Ask the provider about [\d,]+ keys$/ })
    await dialog.getByLabel('Reason').fill('To be stopped.')
    await dialog.getByRole('button', { name: 'Ask the provider' }).click()
    const panel = page.getByRole('region', { name: 'Bulk run' })
    await panel.getByRole('button', { name: 'Stop' }).click()
    await expect(panel.getByText(/^Stopped after/)).toBeVisible(LIVE)
    const [run] = await runSql<{ state: string; done: number; total: number }>(
      site.databaseUrl,
      `SELECT state, done, total FROM runs WHERE reason = 'To be stopped.'`,
    )
    expect(run!.state).toBe('aborted')
    expect(run!.done).toBeLessThan(run!.total)
  })

  test('a viewer sees the keys, and a disabled action names the role that it takes', async () => {
    const page = await open('/keys?state=unknown', viewer)
    await rowsOf(page).first().getByRole('checkbox').click()
    const ask = page.getByRole('button', { name: 'Ask the provider' })
    await expect(ask).toHaveAttribute('aria-disabled', 'true')
    await expect(page.getByText('Asking the provider takes the role operator; yours is viewer.')).toBeVisible()
    // It can be reached, and does nothing.
    await ask.click({ force: true })
    await expect(page.getByRole('dialog')).toHaveCount(0)
  })

  test('filtered keys are exported as CSV, and selected keys as JSON', async () => {
    const page = await open('/keys?state=failed_retryable', viewer)
    await expect(rowsOf(page).first()).toBeVisible()
    await page.getByRole('button', { name: 'Export' }).click()
    const [csv] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'CSV' }).click(),
    ])
    expect(csv.suggestedFilename()).toMatch(/^onceover-keys-.*\.csv$/)
    const lines = (await readFile(await csv.path(), 'utf8')).trimEnd().split('\r\n')
    const ids = lines.slice(1).map((line) => line.split(',')[0])
    expect(ids).toEqual(await expected(`state = 'failed_retryable'`))

    const [first] = await idsOf(page)
    await rowsOf(page).first().getByRole('checkbox').click()
    await page.getByRole('region', { name: 'Selected keys' }).getByRole('button', { name: 'Export' }).click()
    const [json] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'JSON' }).click(),
    ])
    const exported = JSON.parse(await readFile(await json.path(), 'utf8')) as { id: string }[]
    expect(exported.map(({ id }) => id)).toEqual([first])
  })

  test('the command palette opens a key by a pasted order id', async () => {
    const [one] = await runSql<{ id: string; order_id: string }>(
      site.databaseUrl,
      `SELECT r.id, o.id AS order_id FROM idempotency_records r JOIN orders o ON o.record_id = r.id
       WHERE NOT EXISTS (SELECT FROM refunds f WHERE f.order_id = o.id) LIMIT 1`,
    )
    const page = await open('/keys')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Jump to' }).fill(one!.order_id)
    await expect(page.getByRole('option').first()).toContainText('tenant')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/keys/${one!.id}`)
  })

  describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
    test('axe finds no violations on wide and narrow screens', async () => {
      const page = await open('/keys?state=unknown&q=error:time')
      await rowsOf(page).first().getByRole('checkbox').click()
      for (const width of [1920, 320, 1440]) {
        await dress(page, theme, width)
        await expect(page.getByText('1 selected')).toBeVisible()
        expect(await violations(page)).toEqual([])
        await expectToFit(page)
      }
      await page.goto('/keys')
      await page.keyboard.press('/')
      await page.keyboard.type('st')
      await expect(page.getByRole('listbox')).toBeVisible()
      expect(await violations(page)).toEqual([])
    })
  })

  test('an unreachable database shows an inline message and keeps the filter and the typed text', async () => {
    const page = await admin.newPage()
    await page.goto('/keys?q=error:time')
    await expect(rowsOf(page).first()).toBeVisible()
    await withoutDatabase(site, async () => {
      await search(page, 'error:time state:unknown')
      await expect(page.getByText('The keys can’t be read: the database does not answer.')).toBeVisible(LIVE)
      await expect(searchOf(page)).toHaveValue('state:unknown error:time')
      await page.reload()
      await expect(page.getByText('The keys can’t be read: the database does not answer.')).toBeVisible(LIVE)
      await expect(searchOf(page)).toHaveValue('state:unknown error:time')
    })
    await tryAgain(page, rowsOf(page).first())
    await page.close()
  })
})
