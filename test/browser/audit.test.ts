// The audit log, as somebody reads who did what, and checks that nobody rewrote it.
import type { Browser, Locator, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { dress, expect, expectToFit, LOOKS, openBrowser, violations } from '../support/browser'
import { ADMIN_TOKEN, send } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { type Desk, type Hired, hire, sit } from './key-desk'
import { tryAgain, withoutDatabase } from './outage'

let site: Site
let browser: Browser
let vera: Hired
let desk: Desk
let page: Page

beforeAll(async () => {
  ;[site, browser] = await Promise.all([openSite(QUICK_PROVIDER), openBrowser()])
  vera = await hire(site.url, 'viewer', 'Vera Sol')
  desk = await sit(browser, site.url, vera)
  page = desk.page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const entries = (on: Page = page): Locator => on.getByRole('table', { name: 'Audit log' }).getByRole('button')

const admin = (method: string, path: string, body: unknown) =>
  send(`${site.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body,
  })

/** A tenant with a history of so many changes. */
async function changedTenant(changes: number): Promise<string> {
  const { id } = (await admin('POST', '/api/admin/tenants', { name: `changed ${changes} times` })).json<{
    id: string
  }>()
  for (let n = 1; n <= changes; n++)
    await admin('PATCH', `/api/admin/tenants/${id}`, { newKeysPerMinute: n, reason: `Change ${n}.` })
  return id
}

test('the audit page shows who did what, newest first, and an entry opens to its change and its request id', async () => {
  const id = await changedTenant(2)
  await page.goto('/audit')
  await expect(page.getByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible()
  const newest = page.getByRole('table', { name: 'Audit log' }).locator('tbody').first()
  await expect(newest).toContainText('tenant.update')
  await expect(newest).toContainText('Change 2.')
  await newest.getByRole('button').click()
  await expect(newest).toContainText('newKeysPerMinute')
  await expect(newest.locator('del')).toHaveText('before: 1')
  await expect(newest.locator('ins')).toHaveText('after: 2')
  await expect(newest).not.toContainText('liveKeyCap')
  await expect(newest.getByText(/^req_/)).toBeVisible()
  await newest.getByRole('link', { name: id }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'changed 2 times' })).toBeVisible()
  await page.getByRole('link', { name: 'In the audit log' }).click()
  await expect(entries()).toHaveCount(3)
})

describe('the audit page’s filters', () => {
  test('are kept in the URL and survive a reload', async () => {
    await page.goto('/audit')
    await page.getByLabel('What', { exact: true }).fill('session.sign_in')
    await page.keyboard.press('Enter')
    await expect(entries()).toHaveCount(1)
    await page.getByLabel('Who').fill('Vera Sol')
    await page.getByLabel('Who').press('Enter')
    await expect(page).toHaveURL(/actor=Vera/)
    await expect(entries()).toHaveCount(1)
    await page.reload()
    await expect(page.getByLabel('Who')).toHaveValue('Vera Sol')
    await expect(entries()).toHaveCount(1)
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect(page).toHaveURL(/\/audit$/)
    await page.getByLabel('Who').fill('nobody of this name')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('main').getByText('No entry is like that.')).toBeVisible()
  })

  test('keep typed text and focus while the rows of another filter load', async () => {
    await page.goto('/audit')
    let release = () => {}
    const typed = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/outcome=done/, async (route) => {
      await typed
      await route.continue()
    })
    const asked = page.waitForRequest(/outcome=done/)
    await page.getByLabel('Outcome').selectOption('done')
    await asked
    await page.getByLabel('Who').pressSequentially('Vera')
    release()
    await expect(page).toHaveURL(/outcome=done/)
    await expect(page.getByRole('button', { name: 'Clear' })).toBeVisible()
    await expect(page.getByLabel('Who')).toBeFocused()
    await expect(page.getByLabel('Who')).toHaveValue('Vera')
    await page.keyboard.type(' Sol')
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(/actor=Vera.Sol/)
    await page.goBack()
    await expect(page.getByLabel('Who')).toHaveValue('')
  })

  test('find forbidden actions, marked by icon and word', async () => {
    await page.goto('/audit?outcome=forbidden')
    await expect(page.getByRole('main').getByText('No entry is like that.')).toBeVisible()
    const theirs = await desk.context.request.patch(`/api/admin/tenants/ten_${'0'.repeat(26)}`, {
      data: { name: 'x' },
      headers: { origin: site.url },
    })
    expect(theirs.status()).toBe(403)
    // As further refusals in the same minute leave it.
    await runSql(site.databaseUrl, `UPDATE audit_refusals SET count = 1200 WHERE action = 'tenant.update'`)
    await page.reload()
    await expect(entries()).toHaveCount(1)
    const row = page.getByRole('row', { name: /tenant.update/ })
    await expect(row.getByText('forbidden × 1,200')).toBeVisible()
    await expect(row.locator('svg')).toHaveCount(2)
    await entries().click()
    await expect(page.getByRole('main').getByText('It was refused 1,200 times in that minute')).toBeVisible()
  })
})

test('the audit page leads to older entries page by page', async () => {
  const id = await changedTenant(55)
  await page.goto(`/audit?target=${id}`)
  await expect(entries()).toHaveCount(50)
  await page.getByRole('link', { name: 'Older' }).click()
  await expect(entries()).toHaveCount(6)
  await expect(page.getByRole('row', { name: /tenant.create/ })).toBeVisible()
  await page.getByRole('link', { name: 'Newest' }).click()
  await expect(entries()).toHaveCount(50)
})

test('an entry of the audit page opens and closes by keyboard alone', async () => {
  await page.goto('/audit')
  await entries().first().focus()
  await page.keyboard.press('Enter')
  await expect(entries().first()).toHaveAttribute('aria-expanded', 'true')
  await page.keyboard.press('Space')
  await expect(entries().first()).toHaveAttribute('aria-expanded', 'false')
})

describe('verifying the chain on the audit page', () => {
  test('reports that it holds, and over how many entries', async () => {
    await page.goto('/audit')
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    const [{ count }] = (await runSql<{ count: number }>(
      site.databaseUrl,
      'SELECT count(*)::int AS count FROM audit_entries',
    )) as [{ count: number }]
    await expect(page.getByRole('main').getByText(`${count} entries, the chain holds.`)).toBeVisible()
  })

  test('reports and shows the entry that was rewritten', async () => {
    await runSql(
      site.databaseUrl,
      `ALTER TABLE audit_entries DISABLE TRIGGER ALL; UPDATE audit_entries SET actor_name = 'Nobody' WHERE seq = 3;
       ALTER TABLE audit_entries ENABLE TRIGGER ALL`,
    )
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    await expect(page.getByRole('main').getByText('The chain breaks at entry 3.')).toBeVisible()
    await expect(page.getByRole('main').getByText('The 2 entries before it are in order.')).toBeVisible()
    await page.getByRole('link', { name: 'Show where' }).click()
    await expect(entries()).toHaveCount(3)
    await expect(entries().first()).toHaveAccessibleName(/^Entry 3, .* by Nobody$/)
  })
})

test('the audit page reports an unreachable database in place, and keeps its filters', async () => {
  const seat = await sit(browser, site.url, vera)
  await seat.page.goto('/audit?action=tenant.update')
  await withoutDatabase(site, async () => {
    await seat.page.getByLabel('Outcome').selectOption('Done')
    await expect(seat.page.getByRole('main').getByText('The log can’t be read just now.')).toBeVisible()
    await expect(seat.page.getByLabel('What', { exact: true })).toHaveValue('tenant.update')
    await seat.page.getByRole('button', { name: 'Verify the chain' }).click()
    await expect(seat.page.getByRole('main').getByText('The chain was not verified.')).toBeVisible()
  })
  await tryAgain(seat.page, entries(seat.page).first())
  await seat.context.close()
})

test.each(LOOKS)('the audit page has no axe violation and no overflow: %s, %d px', async (theme, width) => {
  await dress(page, theme, width)
  await page.goto('/audit')
  await entries().first().click()
  await page.getByRole('button', { name: 'Verify the chain' }).click()
  await expect(page.getByRole('main').getByText(/The chain breaks/)).toBeVisible()
  expect(await violations(page)).toEqual([])
  await expectToFit(page)
})

test('the audit page leaves no complaint in the browser’s console', () => {
  expect(desk.complaints).toEqual([])
})
