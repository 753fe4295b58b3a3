// The queue of unknown outcomes, dead letters first, and what does not fit together.
import type { Browser, Page } from '@playwright/test'
import { afterAll, beforeAll, test } from 'vitest'
import { dress, expect, expectToFit, LOOKS, openBrowser, violations } from '../support/browser'
import { ADMIN_TOKEN, send } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { auditOf, type Desk, dialogOf, type Hired, hire, place, placeUnknown, sit } from './key-desk'

let site: Site
let browser: Browser
let mara: Hired
let vera: Hired
let desk: Desk
let page: Page

beforeAll(async () => {
  site = await openSite({ ...QUICK_PROVIDER, RECONCILE_MAX_ATTEMPTS: '1' })
  browser = await openBrowser()
  mara = await hire(site.url, 'operator', 'Mara Lindqvist')
  vera = await hire(site.url, 'viewer', 'Vera Sol')
  desk = await sit(browser, site.url, mara)
  page = desk.page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

let discrepancies = 0
async function disagree(recordId: string): Promise<string> {
  const id = `dis_${String(++discrepancies).padStart(26, '0')}`
  const detail = {
    provider: { ref: `ch_${id}`, kind: 'charge', amountCents: 3145, currency: 'USD' },
    ledger: { status: 'succeeded', amountCents: 2500, currency: 'USD' },
  }
  await runSql(
    site.databaseUrl,
    `INSERT INTO discrepancies (id, kind, subject, record_id, detail) VALUES ($1, 'amount_differs', $1, $2, $3)`,
    [id, recordId, detail],
  )
  return id
}

test('the reconciliation page says when every outcome is known and nothing disagrees', async () => {
  await page.goto('/reconciliation')
  await expect(page.getByRole('heading', { level: 1, name: 'Reconciliation' })).toBeVisible()
  await expect(page.getByText('Every outcome is known.')).toBeVisible()
  await expect(page.getByText('No key waits for an answer of the provider.')).toBeVisible()
  await expect(page.getByText('None is open: the ledger and the provider agree')).toBeVisible()
  expect(await violations(page)).toEqual([])
})

test('the reconciliation page lists dead letters and keys that wait for the provider, linked to the key', async () => {
  const dead = await placeUnknown(site)
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
  const run = await send(`${site.url}/api/admin/reconciler/runs`, { method: 'POST', headers, body: {} })
  expect(run.json<{ counts: object }>().counts).toMatchObject({ deadLettered: 1 })
  const waiting = await placeUnknown(site)
  await page.goto('/reconciliation')
  await expect(page.getByText('1 key waits for a person.')).toBeVisible()
  await expect(page.getByText('Only a person moves these on.')).toBeVisible()
  const letters = page.getByRole('table', { name: 'Dead letters' })
  await expect(letters.getByRole('row', { name: new RegExp(dead.key) })).toContainText('USD 25.00')
  await expect(letters.getByRole('row', { name: new RegExp(dead.key) })).toContainText('unreachable')
  const queue = page.getByRole('table', { name: 'Waiting for the provider' })
  await expect(queue.getByRole('row', { name: new RegExp(waiting.key) })).toContainText('not asked yet')
  await queue.getByRole('link', { name: waiting.key }).click()
  await expect(page.getByRole('heading', { level: 1, name: waiting.key })).toBeVisible()
})

test('a discrepancy is closed with a reason, and is found among the closed ones', async () => {
  const made = await place(site)
  const id = await disagree(made.id)
  await page.goto('/reconciliation')
  await expect(page.getByText('The provider took USD 31.45, we booked USD 25.00.')).toBeVisible()
  await page.getByRole('button', { name: /^Close…/ }).click()
  await dialogOf(page).getByRole('button', { name: 'Close', exact: true }).last().click()
  await expect(dialogOf(page).getByText('Say why.')).toBeVisible()
  await dialogOf(page).getByLabel('Reason').fill('A surcharge; refunded by the provider.')
  await dialogOf(page).getByRole('button', { name: 'Close', exact: true }).last().click()
  await expect(dialogOf(page)).toBeHidden()
  await expect(page.getByText('None is open')).toBeVisible()
  expect(await auditOf(site.databaseUrl, id)).toEqual([
    {
      actor_id: mara.id,
      action: 'discrepancy.close',
      outcome: 'done',
      reason: 'A surcharge; refunded by the provider.',
    },
  ])
  await page.getByRole('link', { name: 'Closed' }).click()
  await expect(page.getByText('by Mara Lindqvist: “A surcharge; refunded by the provider.”')).toBeVisible()
  await page.getByRole('link', { name: 'its key' }).click()
  await expect(page.getByText('Charged USD 25.00 once, and answered 201.')).toBeVisible()
})

test('closing a discrepancy that is already closed shows an alert, and keeps the typed reason', async () => {
  const id = await disagree((await place(site)).id)
  await page.goto('/reconciliation')
  await page.getByRole('button', { name: /^Close…/ }).click()
  await dialogOf(page).getByLabel('Reason').fill('Looked into it.')
  await runSql(
    site.databaseUrl,
    `UPDATE discrepancies SET closed_at = now(), closed_by = 'x', reason = 'y' WHERE id = $1`,
    [id],
  )
  await dialogOf(page).getByRole('button', { name: 'Close', exact: true }).last().click()
  await expect(dialogOf(page).getByRole('alert')).toContainText('Somebody has closed this discrepancy.')
  await expect(dialogOf(page).getByLabel('Reason')).toHaveValue('Looked into it.')
})

test('an open discrepancy is shown on the page of its key', async () => {
  const made = await place(site)
  await disagree(made.id)
  await page.goto(`/keys/${made.id}`)
  await expect(
    page.getByText('Charged USD 25.00, and answered 201. The provider says otherwise: see Evidence.'),
  ).toBeVisible()
  await expect(page.getByRole('region', { name: 'Discrepancies' })).toContainText('The amounts differ')
})

test('a viewer can’t close a discrepancy', async () => {
  await disagree((await place(site)).id)
  const seat = await sit(browser, site.url, vera)
  await seat.page.goto('/reconciliation')
  const button = seat.page.getByRole('button', { name: /^Close…/ }).first()
  await expect(button).toBeDisabled()
  await button.click({ force: true })
  await expect(dialogOf(seat.page)).toBeHidden()
  await seat.context.close()
})

test.each(LOOKS)('reconciliation has no axe violations and fits the screen: %s, %d px', async (theme, width) => {
  await disagree((await placeUnknown(site)).id)
  await dress(page, theme, width)
  await page.goto('/reconciliation')
  await expect(page.getByText('The amounts differ').first()).toBeVisible()
  expect(await violations(page)).toEqual([])
  await expectToFit(page)
})

test('the reconciliation page causes no error in the browser’s console', () => {
  expect(desk.complaints).toEqual([])
})
