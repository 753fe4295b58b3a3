// What people do about dead letters, other money and wrong references, from the page of a key and from the list.
import type { Browser, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { dress, expect, expectToFit, LOOKS, openBrowser, violations } from '../support/browser'
import { freshKey, orderBody } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import {
  auditOf,
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
let ada: Hired
let page: Page

beforeAll(async () => {
  site = await openSite({ ...QUICK_PROVIDER, RECONCILE_MAX_ATTEMPTS: '1' })
  browser = await openBrowser()
  ada = await hire(site.url, 'admin', 'Ada Holm')
  page = (await sit(browser, site.url, ada)).page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

async function deadLetter(): Promise<Made> {
  const made = await placeUnknown(site)
  await runSql(
    site.databaseUrl,
    `UPDATE idempotency_records SET dead_lettered_at = clock_timestamp(), reconcile_after = NULL, reconcile_attempts = 1
     WHERE id = $1`,
    [made.id],
  )
  return made
}

/** Accepted, proven not executed, and past creation plus retention. */
async function givenUp(): Promise<Made> {
  const key = freshKey()
  const body = orderBody({ paymentMethod: 'pm_unreachable' })
  const { status } = await site.client.order(key, body, { prefer: 'respond-async' })
  await expect.poll(async () => (await recordOf(site.databaseUrl, key)).state).toBe('unknown')
  const made = { ...(await recordOf(site.databaseUrl, key)), key, body, status }
  await runSql(
    site.databaseUrl,
    `UPDATE idempotency_records SET state = 'failed_retryable', version = version + 1, dead_lettered_at = clock_timestamp(),
       reconcile_after = NULL, last_error_code = 'connection_refused', request = replace(request, 'pm_unreachable', 'pm_ok'),
       timeline = timeline || jsonb_build_array(jsonb_build_object('at', clock_timestamp(), 'event', 'released', 'by', 'node-1', 'attempt', 1))
     WHERE id = $1`,
    [made.id],
  )
  return made
}

/** The provider took less than it was asked for. */
async function otherMoney(): Promise<Made> {
  const made = await place(site, { paymentMethod: 'pm_timeout_charged' })
  await runSql(site.databaseUrl, `UPDATE sandbox.charges SET amount_cents = 2400 WHERE provider_key LIKE '%' || $1`, [
    made.id,
  ])
  await page.goto(`/keys/${made.id}`)
  await page.getByRole('button', { name: 'Ask the provider' }).click()
  await expect(page.getByText('The key stays as it is.')).toBeVisible()
  return made
}

async function decide(button: string, title: string, confirm: string): Promise<void> {
  await page.getByRole('button', { name: button }).click()
  await expect(dialogOf(page)).toHaveAccessibleName(title)
  await look(title)
  await dialogOf(page).getByLabel('Reason').fill(REASON)
  await dialogOf(page).getByRole('button', { name: confirm, exact: true }).click()
  await expect(dialogOf(page)).toBeHidden()
}

/** As it is, in each light and width. */
async function look(name: string): Promise<void> {
  for (const [theme, width] of [...LOOKS, ['light', 320]] as const) {
    await dress(page, theme, width)
    await expectToFit(page)
    if (process.env.SHOTS)
      await page.screenshot({ path: `${process.env.SHOTS}/${name} ${theme} ${width}.png`, fullPage: true })
  }
  await dress(page, 'light', 1440)
}

describe('the page of a key', () => {
  test('has a dead letter looked up by schedule again', async () => {
    const made = await deadLetter()
    await page.goto(`/keys/${made.id}`)
    await look('unknown dead letter')
    expect(await violations(page)).toEqual([])
    await decide('Resume…', 'Resume look-ups', 'Resume')
    await expect(
      timeline(page)
        .getByText(/Resumed|Looked up by schedule again/i)
        .first(),
    ).toBeVisible()
    await look('resumed')
    expect(await auditOf(site.databaseUrl, made.id)).toMatchObject([{ action: 'key.resume', reason: REASON }])
  })

  test('has an accepted key run again', async () => {
    const made = await givenUp()
    await page.goto(`/keys/${made.id}`)
    await look('failed_retryable dead letter')
    expect(await violations(page)).toEqual([])
    await decide('Run again…', 'Run key again', 'Run again')
    await expect.poll(async () => (await recordOf(site.databaseUrl, made.key)).state).toBe('completed')
  })

  test('has the provider’s other money accepted, and the discrepancy stays open', async () => {
    const made = await otherMoney()
    await page.reload()
    await look('amount_differs')
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Resolve…' }).click()
    await dialogOf(page).getByRole('radio', { name: 'Charged' }).check()
    await dialogOf(page)
      .getByRole('checkbox', { name: /^Book USD 24\.00/ })
      .check()
    await expect(dialogOf(page)).toContainText('one charge of USD 24.00')
    await look('accept')
    await dialogOf(page).getByLabel('Reason').fill(REASON)
    await dialogOf(page).getByRole('button', { name: 'Resolve', exact: true }).click()
    await expect(dialogOf(page)).toBeHidden()
    const booked = await runSql(
      site.databaseUrl,
      'SELECT amount_cents::int AS cents FROM ledger_entries WHERE record_id = $1',
      [made.id],
    )
    expect(booked).toEqual([{ cents: 2400 }])
    const open = await runSql(
      site.databaseUrl,
      'SELECT kind FROM discrepancies WHERE record_id = $1 AND closed_at IS NULL',
      [made.id],
    )
    expect(open).toEqual([{ kind: 'amount_differs' }])
    await expect(
      page.getByText('Charged USD 24.00 instead of USD 25.00, which a person accepted, and answered 201.'),
    ).toBeVisible()
    await look('accepted')
  })

  test('has a booking that a verdict made reversed, and offers it no more', async () => {
    const made = await placeUnknown(site)
    await page.goto(`/keys/${made.id}`)
    await expect(page.getByRole('button', { name: 'Reverse…' })).toHaveCount(0)
    await page.getByRole('button', { name: 'Resolve…' }).click()
    await dialogOf(page).getByRole('radio', { name: 'Charged' }).check()
    await dialogOf(page).getByLabel('Provider reference').fill('ch_wrong')
    await dialogOf(page).getByLabel('Reason').fill(REASON)
    await dialogOf(page).getByRole('button', { name: 'Resolve', exact: true }).click()
    await expect(dialogOf(page)).toBeHidden()
    await look('by verdict')
    await decide('Reverse…', 'Reverse booking', 'Reverse')
    await expect(page.getByText('its booking was reversed: no charge is booked for it.')).toBeVisible()
    await expect(page.getByRole('button', { name: 'Reverse…' })).toHaveCount(0)
    await look('reversed')
    expect(await violations(page)).toEqual([])
    const open = await runSql(site.databaseUrl, 'SELECT kind FROM discrepancies WHERE record_id = $1', [made.id])
    expect(open).toEqual([{ kind: 'paid_without_charge' }])
  })
})

describe('the list of keys', () => {
  test('has dead letters resumed and run again in bulk', async () => {
    const [unknown, failed] = [await deadLetter(), await givenUp()]
    for (const [button, title, filter] of [
      ['Resume…', /^Resume the look-ups of/, 'state=unknown'],
      ['Run again…', /^Run .* again$/, 'state=failed_retryable'],
    ] as const) {
      await page.goto(`/keys?${filter}&deadLettered=true`)
      await page.getByLabel('Select all on this page').click()
      await look(`bulk ${button}`)
      await page.getByRole('button', { name: button }).click()
      const dialog = page.getByRole('dialog', { name: title })
      await dialog.getByLabel('Reason').fill(REASON)
      await look(`bulk dialog ${button}`)
      await dialog.getByRole('button', { name: button.replace('…', ''), exact: true }).click()
      await expect(page.getByRole('region', { name: 'Bulk run' }).getByText(/^The run went through/)).toBeVisible()
      await look(`bulk done ${button}`)
    }
    const still = 'SELECT dead_lettered_at FROM idempotency_records WHERE id = ANY($1)'
    expect(await runSql(site.databaseUrl, still, [[unknown.id, failed.id]])).toEqual([
      { dead_lettered_at: null },
      { dead_lettered_at: null },
    ])
    await expect.poll(async () => (await recordOf(site.databaseUrl, failed.key)).state).toBe('completed')
  })
})
