// The pictures of the README: every page that it shows, as it is. They are made at every run, so that a page that can't
// be drawn is noticed; `npm run pictures` keeps them.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Browser, Page } from '@playwright/test'
import pg from 'pg'
import { afterAll, beforeAll, test } from 'vitest'
import { expect, listening, openBrowser, signedIn, type Visit } from '../support/browser'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { fillBusyDay } from './busy-day'
import { hire, placeUnknown } from './key-desk'

const KEPT = path.resolve(import.meta.dirname, '..', '..', process.env.PICTURES ?? 'test-results/pictures')

let browser: Browser
let site: Site
let mara: Awaited<ReturnType<typeof hire>>
let keyId: string
beforeAll(async () => {
  mkdirSync(KEPT, { recursive: true })
  ;[browser, site] = await Promise.all([
    openBrowser(),
    openSite({ ...QUICK_PROVIDER, WORKER: 'off', SETTLE_SECONDS: '600' }),
  ])
  mara = await hire(site.url, 'operator', 'Mara Lindqvist')
  keyId = (await placeUnknown(site)).id
  const db = new pg.Pool({ connectionString: site.databaseUrl, max: 2 })
  await fillBusyDay(db, { finishedCount: 21_000 })
  await db.end()
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

async function picture(name: string, at: string, visit: Visit, ready: (page: Page) => Promise<void>): Promise<void> {
  const context = await signedIn(browser, site.url, mara, visit)
  const page = await context.newPage()
  await page.goto(at)
  await ready(page)
  // Not until the network is at rest: a page that keeps itself current may never be.
  await listening(page)
  await page.screenshot({ path: path.join(KEPT, `${name}.png`), fullPage: true, animations: 'disabled' })
  await context.close()
}

const overview = async (page: Page) => {
  await expect(page.getByRole('figure', { name: 'State map' })).toBeVisible()
  await expect(page.getByRole('figure', { name: 'Decisions' }).locator('svg.recharts-surface').first()).toBeVisible()
}

for (const theme of ['light', 'dark'] as const)
  test(`the README picture of the overview can be taken, ${theme}`, () =>
    picture(`overview-${theme}`, '/', { theme, height: 1800 }, overview))

test('the README picture of the keys page can be taken', () =>
  picture('keys', '/keys?state=unknown', {}, async (page) => {
    await expect(page.getByRole('table', { name: 'Idempotency keys' }).getByRole('row').nth(5)).toBeVisible()
  }))

test('the README picture of a key with its “Resolve key” dialog can be taken', () =>
  picture('resolve', `/keys/${keyId}`, {}, async (page) => {
    const dialog = page.getByRole('dialog', { name: 'Resolve key' })
    await page.getByRole('button', { name: 'Resolve…' }).first().click()
    await expect(dialog).toBeVisible()
    await dialog.getByRole('radiogroup', { name: 'Verdict' }).getByRole('radio', { name: 'Charged' }).click()
    await dialog.getByLabel('Provider reference').fill('sbx_ch_01jcq2h8p5s2v6x0z4a8c1e3g7')
    await dialog.getByLabel('Reason').fill('Provider support confirmed the charge, ticket 48213.')
    await expect(dialog.getByText('after 201')).toBeVisible()
  }))

test('the README picture of the maintenance page can be taken', () =>
  picture('maintenance', '/maintenance', {}, async (page) => {
    await expect(page.getByRole('region', { name: 'Ledger comparison' })).toBeVisible()
  }))
