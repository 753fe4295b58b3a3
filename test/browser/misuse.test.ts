// Misuse, as somebody finds out which client sends keys with other requests, and what differs.
import type { Browser, Locator, Page } from '@playwright/test'
import { afterAll, beforeAll, test } from 'vitest'
import { dress, expect, expectToFit, LOOKS, openBrowser, violations } from '../support/browser'
import { freshKey, orderBody } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { type Desk, type Hired, hire, recordOf, sit } from './key-desk'
import { withoutDatabase } from './outage'

const SECRET = 'pm_a_value_that_nobody_is_shown'

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

const rows = (on: Page = page): Locator =>
  on.getByRole('table', { name: 'Requests that reused a key' }).locator('tbody tr')

test('the misuse page says when no key was reused', async () => {
  await page.goto('/misuse')
  await expect(page.getByRole('heading', { level: 1, name: 'Misuse' })).toBeVisible()
  await expect(page.getByRole('main').getByText('No key was sent with another request in the last 24 h.')).toBeVisible()
  await expect(page.getByRole('main').getByText('No key was ever sent with another request.')).toBeVisible()
  expect(await violations(page)).toEqual([])
})

test('the misuse page names the tenant, the endpoint and the differing paths, never the values', async () => {
  const key = freshKey()
  const body = orderBody()
  await site.client.order(key, body)
  expect((await site.client.order(key, { ...body, paymentMethod: SECRET })).status).toBe(422)
  expect((await site.client.order(key, { ...body, note: 'another note' })).status).toBe(422)
  // The counters are written every few seconds.
  await expect(async () => {
    await page.goto('/misuse')
    await expect(
      page.getByRole('main').getByText('demo sent keys with other requests 2 times in the last 24 h.'),
    ).toBeVisible({
      timeout: 500,
    })
  }).toPass({ timeout: 20_000 })
  await expect(page.getByRole('main').getByText('On the day before: none.')).toBeVisible()
  await expect(page.getByRole('table', { name: 'By tenant' }).getByRole('row', { name: /demo/ })).toContainText('2')
  await expect(page.getByRole('table', { name: 'By endpoint' }).getByRole('row', { name: /orders/ })).toContainText('2')
  const differs = page.getByRole('table', { name: 'What differs' })
  await expect(differs.getByRole('row', { name: /\$\.paymentMethod/ })).toContainText('1')
  await expect(rows()).toHaveCount(2)
  expect(await page.content()).not.toContain(SECRET)

  await differs
    .getByRole('row', { name: /\$\.note/ })
    .getByRole('link')
    .click()
  await expect(rows()).toHaveCount(1)
  await expect(page.getByLabel('Differs at')).toHaveValue('$.note')
  await expect(rows().first()).toContainText('$.note')
  await page.getByRole('link', { name: 'Show all' }).click()
  await expect(page).not.toHaveURL(/from=/)
  await page.getByRole('button', { name: 'Clear' }).click()
  await expect(rows()).toHaveCount(2)
  const { id } = await recordOf(site.databaseUrl, key)
  await expect(rows().first().getByRole('link', { name: key })).toHaveAttribute('href', `/keys/${id}`)
})

test('the misuse page filters by tenant, endpoint and time, and keeps a filter in the URL', async () => {
  await page.goto('/misuse')
  await page.getByLabel('Tenant', { exact: true }).fill('nobody')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/tenant=nobody/)
  await expect(page.getByRole('main').getByText('No request is like that.')).toBeVisible()
  await page.getByLabel('Tenant', { exact: true }).fill('demo')
  await page.keyboard.press('Enter')
  await expect(rows()).toHaveCount(2)
  await page.getByLabel('Endpoint', { exact: true }).selectOption('refunds')
  await expect(page.getByRole('main').getByText('No request is like that.')).toBeVisible()
  await page.goto(`/misuse?from=${encodeURIComponent(new Date(Date.now() + 60_000).toISOString())}`)
  await expect(page.getByRole('main').getByText('No request is like that.')).toBeVisible()
  await page.getByRole('link', { name: 'Show all' }).click()
  await expect(rows()).toHaveCount(2)
  await page.getByRole('group', { name: 'Window' }).getByRole('link', { name: '1 h' }).click()
  await expect(
    page.getByRole('main').getByText(/demo sent keys with other requests 2 times in the last hour/),
  ).toBeVisible()
})

test('the misuse page lists older requests on further pages', async () => {
  await runSql(
    site.databaseUrl,
    `INSERT INTO misuse (id, at, tenant_id, endpoint, key, record_id, changed_paths, request_id)
     SELECT 'mis_' || n, now() - interval '2 days' - n * interval '1 s', tenant_id, endpoint, 'key-that-is-reused-' || n,
       record_id, '{}', 'req_' || n FROM generate_series(1, 60) n, (SELECT * FROM misuse LIMIT 1) m`,
  )
  await page.goto('/misuse')
  await expect(rows()).toHaveCount(50)
  await page.getByRole('link', { name: 'Older' }).click()
  await expect(rows()).toHaveCount(12)
  await expect(rows().last()).toContainText('The first request is erased')
})

test('the misuse page says when the database is unreachable, and its filters stay', async () => {
  const seat = await sit(browser, site.url, vera)
  await seat.page.goto('/misuse?tenant=demo')
  await expect(rows(seat.page).first()).toBeVisible()
  await withoutDatabase(site, async () => {
    await seat.page.getByLabel('Endpoint', { exact: true }).selectOption('orders')
    await expect(seat.page.getByRole('main').getByText('The requests can’t be read just now.')).toBeVisible()
    await expect(
      seat.page.getByRole('main').getByText('How often keys are misused can’t be read just now.'),
    ).toBeVisible()
    await expect(seat.page.getByLabel('Tenant', { exact: true })).toHaveValue('demo')
  })
  await seat.context.close()
})

test.each(LOOKS)('the misuse page has no axe violations and no overflow: %s, %d px', async (theme, width) => {
  await dress(page, theme, width)
  await page.goto('/misuse')
  await expect(rows().first()).toBeVisible()
  await expect(page.getByRole('table', { name: 'By tenant' })).toBeVisible()
  expect(await violations(page)).toEqual([])
  await expectToFit(page)
})

test('the misuse page logs no console errors', () => {
  expect(desk.complaints).toEqual([])
})
