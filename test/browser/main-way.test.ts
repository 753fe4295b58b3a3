// The main way through the console, from the sign-in form to the audit log, by clicks alone. The tests beside it start on
// their own page with a session that was made for them; this one shows that the pages lead to each other.
import type { Browser, BrowserContext, Locator, Page } from '@playwright/test'
import { afterAll, beforeAll, expect as expectNow, test } from 'vitest'
import { complaints, expect, openBrowser, stranger, violations } from '../support/browser'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { dialogOf, type Hired, hire, type Made, placeUnknown, recordOf } from './key-desk'

const REASON = 'Provider support confirmed it, ticket 48213.'

let site: Site
let browser: Browser
let context: BrowserContext
let page: Page
let heard: string[]
let mara: Hired
let unknown: Made
beforeAll(async () => {
  ;[site, browser] = await Promise.all([openSite(QUICK_PROVIDER), openBrowser()])
  mara = await hire(site.url, 'operator', 'Mara Lindqvist')
  unknown = await placeUnknown(site)
  context = await stranger(browser, site.url)
  page = await context.newPage()
  heard = complaints(page)
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const heading = (name: string): Locator => page.getByRole('heading', { level: 1, name })
const follow = (name: string) => page.getByRole('navigation').getByRole('link', { name }).first().click()

test('an operator signs in, finds an unknown key, resolves it and reads the entry in the audit log', async () => {
  await page.goto('/')
  await expect(heading('Sign in')).toBeVisible()
  await page.getByLabel('Email').fill(mara.email)
  await page.getByLabel('Password').fill(mara.password)
  await page.getByRole('button', { name: 'Sign in' }).click()

  await expect(heading('Overview')).toBeVisible()
  await follow('Keys')
  await expect(heading('Keys')).toBeVisible()
  await page
    .getByRole('navigation', { name: 'States' })
    .getByRole('link', { name: /^Unknown 1$/ })
    .click()
  const row = page.getByRole('table', { name: 'Idempotency keys' }).locator('tbody tr')
  await expect(row).toHaveCount(1)
  await row.getByRole('link').first().click()

  await page.getByRole('button', { name: 'Resolve…' }).click()
  await dialogOf(page).getByRole('radio', { name: 'Charged' }).check()
  await dialogOf(page).getByLabel('Provider reference').fill('ch_7Qm2Lx9v0TzA4')
  await dialogOf(page).getByLabel('Reason').fill(REASON)
  await dialogOf(page).getByRole('button', { name: 'Resolve', exact: true }).click()
  await expect(dialogOf(page)).toBeHidden()
  expectNow(await recordOf(site.databaseUrl, unknown.key)).toMatchObject({ state: 'completed', response_status: 201 })
  expectNow((await site.client.order(unknown.key, unknown.body)).status).toBe(201)

  await follow('Audit log')
  await expect(page.getByText(REASON).first()).toBeVisible()
})

test.each(['Overview', 'Keys', 'Reconciliation', 'Misuse', 'Maintenance'])(
  'the page %s opens from the navigation without accessibility violations',
  async (name) => {
    await follow(name)
    await expect(heading(name)).toBeVisible()
    expectNow(await violations(page)).toEqual([])
  },
)

test('an operator makes a dry run of the sweeper, and signs out', async () => {
  const sweeper = page.getByRole('region', { name: 'Sweeper' })
  await sweeper.getByRole('button', { name: 'Dry run' }).click()
  await expect(sweeper.getByRole('heading', { name: 'Dry run: 0 keys' })).toBeVisible()
  await page.getByRole('button', { name: /Mara Lindqvist/ }).click()
  await page.getByText('Sign out').click()
  await expect(heading('Sign in')).toBeVisible()
})

test('no page between sign-in and sign-out causes an error in the browser', () => {
  expectNow(heard).toEqual([])
})
