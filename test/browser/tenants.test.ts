// Tenants, as an admin hands out access and as everybody else looks at it.
import type { Browser, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { dress, expect, expectToFit, LOOKS, openBrowser, violations } from '../support/browser'
import { createClient, freshKey, orderBody, until } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { auditOf, type Desk, dialogOf, type Hired, hire, sit } from './key-desk'
import { tryAgain, withoutDatabase } from './outage'

let site: Site
let browser: Browser
let ada: Hired
let desk: Desk
let page: Page
let acme: string

beforeAll(async () => {
  ;[site, browser] = await Promise.all([openSite(QUICK_PROVIDER), openBrowser()])
  ada = await hire(site.url, 'admin', 'Ada Byron')
  desk = await sit(browser, site.url, ada)
  page = desk.page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const sql = <Row = Record<string, unknown>>(text: string, values: unknown[] = []) =>
  runSql<Row>(site.databaseUrl, text, values)
const settingsOf = async (id: string) =>
  (await sql('SELECT name, retention_hours, new_keys_per_minute, live_key_cap FROM tenants WHERE id = $1', [id]))[0]

test('the tenants page lists tenants with their limits, and names a tenant whose live-key cap is reached', async () => {
  await page.goto('/tenants')
  await expect(page.getByRole('heading', { level: 1, name: 'Tenants' })).toBeVisible()
  await expect(
    page.getByRole('main').getByText('1 tenant, none is disabled. All are well below their live-key cap.'),
  ).toBeVisible()
  const demo = page.getByRole('table', { name: 'Tenants' }).getByRole('row', { name: /demo/ })
  await expect(demo).toContainText('600,000')
  await expect(demo).toContainText('as the endpoint')
  await sql(`UPDATE tenants SET live_key_cap = 0`)
  await page.reload()
  await expect(page.getByRole('main').getByText('demo can’t make new keys: the live-key cap is reached.')).toBeVisible()
  await sql(`UPDATE tenants SET live_key_cap = 10000000`)
})

test('the tenant dialog creates a tenant, and keeps the typed name when it is taken', async () => {
  await page.goto('/tenants')
  await page.getByRole('button', { name: 'New tenant' }).click()
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  await expect(dialogOf(page).getByRole('alert')).toContainText('A tenant needs a name.')
  await dialogOf(page).getByLabel('Name').fill('demo')
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  await expect(dialogOf(page).getByRole('alert')).toContainText('Another tenant has this name.')
  await expect(dialogOf(page).getByLabel('Name')).toHaveValue('demo')
  await dialogOf(page).getByLabel('Name').fill('acme')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'acme' })).toBeVisible()
  acme = new URL(page.url()).pathname.split('/').at(-1)!
  await expect(page.getByRole('main').getByText('It has no API key, so nobody can send its requests.')).toBeVisible()
  expect(await auditOf(site.databaseUrl, acme)).toMatchObject([{ actor_id: ada.id, action: 'tenant.create' }])
})

describe('a tenant’s settings', () => {
  test('are validated and saved', async () => {
    await page.goto(`/tenants/${acme}`)
    await page.getByLabel('New keys a minute, at most').fill('many')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByRole('main').getByText('A whole number from 0 to 2,147,483,647.')).toBeVisible()
    await page.getByLabel('New keys a minute, at most').fill('60,000')
    await page.getByLabel('Retention, hours').fill('72')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Saved.').first()).toBeVisible()
    await expect(page.getByLabel('New keys a minute, at most')).toHaveValue('60000')
    expect(await settingsOf(acme)).toMatchObject({ retention_hours: 72, new_keys_per_minute: 60_000 })
    expect((await auditOf(site.databaseUrl, acme)).at(-1)).toMatchObject({ action: 'tenant.update' })
    await page.getByLabel('Retention, hours').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => settingsOf(acme)).toMatchObject({ retention_hours: null, new_keys_per_minute: 60_000 })
  })

  test('are both saved when two admins change different ones, and a conflict on the same one is shown', async () => {
    const other = await sit(browser, site.url, await hire(site.url, 'admin', 'Grace Hopper'))
    await Promise.all([page.goto(`/tenants/${acme}`), other.page.goto(`/tenants/${acme}`)])
    await page.getByLabel('New keys a minute, at most').fill('111')
    await other.page.getByLabel('Live keys, at most').fill('222')
    await other.page.getByRole('button', { name: 'Save' }).click()
    await expect(other.page.getByText('Saved.').first()).toBeVisible()
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Saved.').first()).toBeVisible()
    expect(await settingsOf(acme)).toMatchObject({ new_keys_per_minute: 111, live_key_cap: 222 })
    // The page has the other's number now; the other's has not got ours yet.
    await expect(page.getByLabel('Live keys, at most')).toHaveValue('222')
    await page.getByLabel('Live keys, at most').fill('333')
    await other.page.getByLabel('Live keys, at most').fill('444')
    await other.page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => settingsOf(acme)).toMatchObject({ live_key_cap: 444 })
    await page.getByLabel('Retention, hours').fill('0')
    await page.getByRole('button', { name: 'New API key' }).click()
    await dialogOf(page).getByLabel('Name').fill('a key, which reads the page anew')
    await dialogOf(page).getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await expect(page.getByRole('main').getByText('Somebody has set this to 444 meanwhile.')).toBeVisible()
    await expect(page.getByLabel('Live keys, at most')).toHaveValue('333')
    await other.context.close()
  })

  test('disable and enable the tenant, with the reason in the audit log', async () => {
    await page.goto(`/tenants/${acme}`)
    await page.getByRole('button', { name: 'Disable…' }).click()
    await expect(dialogOf(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
    await dialogOf(page).getByLabel('Reason').fill('They asked for it.')
    await dialogOf(page).getByRole('button', { name: 'Disable', exact: true }).click()
    await expect(page.getByRole('main').getByText('Disabled: all of its API keys get 401.')).toBeVisible()
    expect((await auditOf(site.databaseUrl, acme)).at(-1)).toMatchObject({ reason: 'They asked for it.' })
    await page.getByRole('button', { name: 'Enable…' }).click()
    await dialogOf(page).getByRole('button', { name: 'Enable', exact: true }).click()
    await expect(page.getByRole('button', { name: 'Disable…' })).toBeVisible()
    expect(await sql('SELECT disabled_at FROM tenants WHERE id = $1', [acme])).toEqual([{ disabled_at: null }])
  })
})

test('an API key’s secret is shown once, and authenticates requests until the key is revoked', async () => {
  await page.goto(`/tenants/${acme}`)
  await page.getByRole('button', { name: 'New API key' }).click()
  await dialogOf(page).getByLabel('Name').fill('checkout')
  await page.keyboard.press('Enter')
  await expect(dialogOf(page).getByText('It will not be shown again')).toBeVisible()
  const secret = await dialogOf(page).getByLabel('API key').inputValue()
  expect(secret).toMatch(/^oo_live_/)
  // Neither of these takes it away.
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  await expect(dialogOf(page).getByLabel('API key')).toHaveValue(secret)
  await dialogOf(page).getByRole('button', { name: 'Done' }).click()
  await expect(dialogOf(page)).toBeHidden()
  expect(await page.content()).not.toContain(secret)

  const client = createClient(site.url, secret)
  expect((await client.order(freshKey(), orderBody())).status).toBe(201)
  await page.getByRole('button', { name: 'Revoke checkout…' }).click()
  await expect(dialogOf(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
  await dialogOf(page).getByRole('button', { name: 'Revoke', exact: true }).click()
  await expect(page.getByRole('row', { name: /checkout/ })).toContainText('revoked')
  const dead = await until(
    () => client.order(freshKey(), orderBody()),
    ({ status }) => status === 401,
  )
  expect(dead.status).toBe(401)
})

test('the page of a tenant that does not exist is 404', async () => {
  for (const id of ['ten_00000000000000000000000000', 'nonsense'])
    expect((await page.goto(`/tenants/${id}`))?.status()).toBe(404)
  desk.complaints.length = 0
})

test.each(['viewer', 'operator'] as const)('a %s sees a tenant’s settings but can change nothing', async (role) => {
  const seat = await sit(browser, site.url, await hire(site.url, role, `Sam ${role}`))
  const before = await sql('SELECT * FROM tenants ORDER BY id')
  await seat.page.goto('/tenants')
  await expect(seat.page.getByRole('main').getByText(`Changes take the role admin; yours is ${role}.`)).toBeVisible()
  await expect(seat.page.getByRole('button', { name: 'New tenant' })).toBeDisabled()
  await seat.page.getByRole('link', { name: 'acme' }).click()
  await expect(seat.page.getByRole('heading', { level: 1, name: 'acme' })).toBeVisible()
  await expect(seat.page.getByLabel('Name')).toBeDisabled()
  for (const name of ['Save', 'Disable…', 'New API key']) {
    const off = seat.page.getByRole('button', { name })
    await expect(off).toBeDisabled()
    await off.click({ force: true })
  }
  await expect(dialogOf(seat.page)).toBeHidden()
  expect(await sql('SELECT * FROM tenants ORDER BY id')).toEqual(before)
  expect(await violations(seat.page)).toEqual([])
  expect(seat.complaints).toEqual([])
  await seat.context.close()
})

test('while the database is unreachable, the tenant pages say so and keep the typed input', async () => {
  const seat = await sit(browser, site.url, ada)
  await seat.page.goto(`/tenants/${acme}`)
  await seat.page.getByLabel('Name').fill('acme, renamed')
  await withoutDatabase(site, async () => {
    await seat.page.getByRole('button', { name: 'Save' }).click()
    await expect(seat.page.getByRole('alert').filter({ hasText: 'It was not saved.' })).toBeVisible()
    await expect(seat.page.getByLabel('Name')).toHaveValue('acme, renamed')
    await seat.page.getByRole('link', { name: 'Tenants' }).first().click()
    await expect(seat.page.getByRole('main').getByText('The tenants can’t be read just now.')).toBeVisible()
  })
  await tryAgain(seat.page, seat.page.getByRole('table', { name: 'Tenants' }))
  await seat.context.close()
})

test.each(LOOKS)('the tenant pages pass axe and fit the viewport: %s, %d px', async (theme, width) => {
  await dress(page, theme, width)
  for (const path of ['/tenants', `/tenants/${acme}`]) {
    await page.goto(path)
    await expect(page.getByRole('table').first()).toBeVisible()
    expect(await violations(page)).toEqual([])
    await expectToFit(page)
  }
  await page.getByRole('button', { name: 'New API key' }).click()
  await expect(dialogOf(page)).toBeVisible()
  expect(await violations(page)).toEqual([])
})

test('the tenant pages cause no browser console errors', () => {
  expect(desk.complaints).toEqual([])
})
