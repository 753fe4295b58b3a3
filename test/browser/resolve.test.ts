// A person's word for an outcome, from the click to the database and back, without leaving the page.
import type { Browser, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { dress, expect, expectToFit, openBrowser, violations } from '../support/browser'
import { countCharges } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import {
  auditOf,
  type Desk,
  dialogOf,
  type Hired,
  hire,
  type Made,
  place,
  placeUnknown,
  recordOf,
  sit,
  timeline,
} from './key-desk'

const REASON = 'Provider support confirmed it, ticket 48213.'

let site: Site
let browser: Browser
let mara: Hired
let jonas: Hired
let desk: Desk
let page: Page

beforeAll(async () => {
  site = await openSite(QUICK_PROVIDER)
  browser = await openBrowser()
  mara = await hire(site.url, 'operator', 'Mara Lindqvist')
  jonas = await hire(site.url, 'operator', 'Jonas Okafor')
  desk = await sit(browser, site.url, mara)
  page = desk.page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const openDialog = async (at: Page, { id }: Made) => {
  await at.goto(`/keys/${id}`)
  await at.getByRole('button', { name: 'Resolve…' }).click()
  await expect(dialogOf(at)).toBeVisible()
}
const verdict = (at: Page, name: string) =>
  dialogOf(at).getByRole('radiogroup', { name: 'Verdict' }).getByRole('radio', { name })
const field = (at: Page, name: string) => dialogOf(at).getByLabel(name)
const resolve = (at: Page) => dialogOf(at).getByRole('button', { name: 'Resolve', exact: true })
const wire = (at: Page, label: string) => at.getByRole('figure', { name: label }).locator('[data-body]')

describe('resolving a key in the dialog', () => {
  test('as charged makes the next replay what was previewed, and updates the page, the record and the audit log', async () => {
    const made = await placeUnknown(site)
    expect(made.status).toBe(504)
    await openDialog(page, made)
    await expect(dialogOf(page)).toHaveAccessibleName('Resolve key')
    await verdict(page, 'Charged').check()
    await field(page, 'Provider reference').fill('ch_7Qm2Lx9v0TzA4')
    await field(page, 'Reason').fill(REASON)
    await expect(dialogOf(page).getByText('now 409')).toBeVisible()
    await expect(dialogOf(page).getByText('after 201')).toBeVisible()
    await expect(dialogOf(page)).toContainText('pending_payment')
    await expect(dialogOf(page)).toContainText('one charge of USD 25.00')
    await expect(dialogOf(page)).toContainText(`${REASON.length} of 2,000`)
    await expect(dialogOf(page)).toContainText('Version 2, unchanged since you loaded it.')
    const previewed = JSON.parse(await wire(page, 'Next replay').innerText())
    await resolve(page).click()

    await expect(dialogOf(page)).toBeHidden()
    await expect(page.getByText('Charged USD 25.00 once, and answered 201.')).toBeVisible()
    await expect(timeline(page).getByText('Resolved as charged by Mara Lindqvist')).toBeVisible()
    expect(await recordOf(site.databaseUrl, made.key)).toMatchObject({ state: 'completed', response_status: 201 })
    expect(await auditOf(site.databaseUrl, made.id)).toEqual([
      { actor_id: mara.id, action: 'key.resolve', outcome: 'done', reason: REASON },
    ])
    const replay = await site.client.order(made.key, made.body)
    expect(replay.status).toBe(201)
    const answer = replay.json<typeof previewed>()
    expect({ ...answer, payment: { ...answer.payment, id: previewed.payment.id } }).toEqual(previewed)
    await expect.poll(async () => JSON.parse(await wire(page, 'Next answer').innerText())).toEqual(answer)
  })

  test('as declined makes the client’s retry get 402', async () => {
    const made = await placeUnknown(site)
    await openDialog(page, made)
    await verdict(page, 'Declined').check()
    await field(page, 'Reason').fill(REASON)
    await expect(dialogOf(page).getByText('after 402')).toBeVisible()
    await resolve(page).click()
    await expect(page.getByText('Declined by the provider, and answered 402. Nothing was charged.')).toBeVisible()
    expect((await site.client.order(made.key, made.body)).status).toBe(402)
  })

  test('as proven not executed is possible only after the settle window, and the client’s retry then runs it', async () => {
    const made = await place(site, { paymentMethod: 'pm_timeout_lost_once' })
    const settles = (when: string) =>
      runSql(site.databaseUrl, `UPDATE idempotency_records SET settles_at = now() + $2 WHERE id = $1`, [made.id, when])
    await settles('1 hour')
    // The hour passes for those who look at it: in the database, and in a browser of its own, whose clock is all its pages'.
    const { page, context } = await sit(browser, site.url, mara)
    await page.clock.install()
    await openDialog(page, made)
    await expect(verdict(page, 'Proven not executed')).toBeDisabled()
    await expect(dialogOf(page)).toContainText('until then a call that was sent may still arrive')
    await settles('0')
    await page.clock.fastForward('01:00:00')
    await expect(verdict(page, 'Proven not executed')).toBeEnabled()
    await verdict(page, 'Proven not executed').check()
    await expect(field(page, 'Provider reference')).toBeHidden()
    await expect(dialogOf(page)).toContainText('runs it again, and calls the provider')
    await field(page, 'Reason').fill(REASON)
    await resolve(page).click()
    await expect(page.getByText('Proven: nothing was charged. The next request with this key runs it.')).toBeVisible()
    expect((await site.client.order(made.key, made.body)).status).toBe(201)
    expect(await countCharges(site.url, made.body.customerId)).toBe(1)
    await context.close()
  })
})

describe('the Resolve dialog', () => {
  test('says at each field what is missing', async () => {
    const made = await placeUnknown(site)
    await openDialog(page, made)
    await resolve(page).click()
    await expect(dialogOf(page).getByText('Say what happened.')).toBeVisible()
    await verdict(page, 'Charged').check()
    await field(page, 'Reason').fill('too short')
    await resolve(page).click()
    await expect(field(page, 'Provider reference')).toHaveAccessibleDescription('What was charged has a reference.')
    await expect(field(page, 'Reason')).toHaveAccessibleDescription('At least 10 characters.')
    expect((await recordOf(site.databaseUrl, made.key)).state).toBe('unknown')
  })

  test('shows that the provider contradicts the verdict, and keeps what was typed', async () => {
    const made = await place(site, { paymentMethod: 'pm_timeout_charged' })
    await openDialog(page, made)
    await verdict(page, 'Declined').check()
    await field(page, 'Reason').fill(REASON)
    await resolve(page).click()
    await expect(dialogOf(page).getByRole('alert')).toContainText(
      'The provider has executed it, with the reference sbx_ch_',
    )
    await expect(field(page, 'Reason')).toHaveValue(REASON)
    await expect(verdict(page, 'Declined')).toBeChecked()
    expect((await recordOf(site.databaseUrl, made.key)).state).toBe('unknown')
  })

  test('shows that the reference belongs to another key, and keeps what was typed', async () => {
    const paid = await place(site)
    const [{ ref }] = (await runSql<{ ref: string }>(
      site.databaseUrl,
      'SELECT provider_ref AS ref FROM ledger_entries WHERE record_id = $1',
      [paid.id],
    )) as [{ ref: string }]
    const made = await placeUnknown(site)
    await openDialog(page, made)
    await verdict(page, 'Charged').check()
    await field(page, 'Provider reference').fill(ref)
    await field(page, 'Reason').fill(REASON)
    await expect(dialogOf(page)).toContainText('It would be refused now.')
    await resolve(page).click()
    await expect(dialogOf(page).getByRole('alert')).toContainText('it belongs to another key')
    await expect(field(page, 'Provider reference')).toHaveValue(ref)
  })

  test('keeps what was typed when it is closed and opened again', async () => {
    const made = await placeUnknown(site)
    await openDialog(page, made)
    await verdict(page, 'Declined').check()
    await field(page, 'Reason').fill(REASON)
    await page.keyboard.press('Escape')
    await expect(dialogOf(page)).toBeHidden()
    await page.getByRole('button', { name: 'Resolve…' }).click()
    await expect(field(page, 'Reason')).toHaveValue(REASON)
  })
})

describe('a key that changes while the Resolve dialog is open', () => {
  test('shows the second operator what changed and by whom, and keeps what was typed', async () => {
    const made = await placeUnknown(site)
    const other = await sit(browser, site.url, jonas)
    await openDialog(page, made)
    await openDialog(other.page, made)
    await verdict(page, 'Charged').check()
    await field(page, 'Provider reference').fill('ch_of_mara')
    await field(page, 'Reason').fill(REASON)

    await verdict(other.page, 'Declined').check()
    await field(other.page, 'Reason').fill('The provider’s dashboard says declined.')
    await resolve(other.page).click()
    await expect(dialogOf(other.page)).toBeHidden()

    await resolve(page).click()
    const alert = dialogOf(page).getByRole('alert')
    await expect(alert).toContainText('Changed since you loaded it.')
    await expect(alert).toContainText('Version 2 is 3 now')
    await expect(alert).toContainText('Resolved as declined by Jonas Okafor')
    await expect(alert).toContainText('The provider’s dashboard says declined.')
    await expect(alert).toContainText('nothing left to decide')
    await expect(field(page, 'Reason')).toHaveValue(REASON)
    await expect(field(page, 'Provider reference')).toHaveValue('ch_of_mara')
    await expect(verdict(page, 'Charged')).toBeChecked()
    expect(await recordOf(site.databaseUrl, made.key)).toMatchObject({ response_status: 402, version: 3 })
    expect(await violations(page)).toEqual([])
    await other.context.close()
  })

  test('can be resolved with the new version while its outcome is still unknown', async () => {
    const made = await placeUnknown(site)
    await openDialog(page, made)
    await verdict(page, 'Charged').check()
    await field(page, 'Provider reference').fill('ch_late')
    await field(page, 'Reason').fill(REASON)
    await runSql(
      site.databaseUrl,
      `UPDATE idempotency_records SET version = version + 1, timeline = timeline || jsonb_build_array(
         jsonb_build_object('at', clock_timestamp(), 'event', 'evidence', 'by', 'webhook', 'source', 'webhook', 'verdict', 'declined'))
       WHERE id = $1`,
      [made.id],
    )
    await resolve(page).click()
    await expect(dialogOf(page).getByRole('alert')).toContainText('Webhook: declined')
    await expect(resolve(page)).toBeDisabled()
    await dialogOf(page).getByRole('button', { name: 'Go on with version 3' }).click()
    await expect(dialogOf(page)).toContainText('Version 3, as you saw it just now.')
    await resolve(page).click()
    await expect(dialogOf(page)).toBeHidden()
    expect(await recordOf(site.databaseUrl, made.key)).toMatchObject({ state: 'completed', response_status: 201 })
  })
})

test('a key can be resolved by keyboard alone', async () => {
  const made = await placeUnknown(site)
  await page.goto(`/keys/${made.id}`)
  await page.getByRole('button', { name: 'Resolve…' }).focus()
  await page.keyboard.press('Enter')
  await expect(verdict(page, 'Charged')).toBeFocused()
  await page.keyboard.press('Space')
  await expect(verdict(page, 'Charged')).toBeChecked()
  await page.keyboard.press('ArrowDown')
  await expect(verdict(page, 'Declined')).toBeChecked()
  await page.keyboard.press('Tab')
  await expect(field(page, 'Provider reference')).toBeFocused()
  await page.keyboard.press('Tab')
  await page.keyboard.type(REASON)
  await expect(field(page, 'Reason')).toHaveValue(REASON)
  // letters that move between keys elsewhere are letters here
  await page.keyboard.type(' jk')
  await expect(dialogOf(page)).toBeVisible()
  for (let i = 0; i < 6 && !(await resolve(page).evaluate((button) => button === document.activeElement)); i++)
    await page.keyboard.press('Tab')
  await expect(resolve(page)).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(dialogOf(page)).toBeHidden()
  expect(await recordOf(site.databaseUrl, made.key)).toMatchObject({ state: 'completed', response_status: 402 })
})

test.each([
  ['light', 1440],
  ['dark', 1440],
  ['light', 320],
] as const)('the Resolve dialog has no axe violations and fits the screen: %s, %d px', async (theme, width) => {
  const made = await placeUnknown(site)
  await dress(page, theme, width)
  await openDialog(page, made)
  await verdict(page, 'Charged').check()
  await field(page, 'Provider reference').fill('ch_1')
  await expect(dialogOf(page).getByText('after 201')).toBeVisible()
  expect(await violations(page)).toEqual([])
  await expectToFit(page)
})

test('the Resolve dialog causes no error in the browser’s console', () => {
  expect(desk.complaints).toEqual([])
})
