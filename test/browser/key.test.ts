// One key's page: its whole story, what a retry would get, and what can be done about it.
import type { Browser, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { dress, expect, expectToFit, openBrowser, violations } from '../support/browser'
import { ADMIN_TOKEN, freshKey, send } from '../support/client'
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
import { withoutDatabase } from './outage'

let site: Site
let browser: Browser
let mara: Hired
let vera: Hired
let desk: Desk
let page: Page

beforeAll(async () => {
  site = await openSite(QUICK_PROVIDER)
  browser = await openBrowser()
  mara = await hire(site.url, 'operator', 'Mara Lindqvist')
  vera = await hire(site.url, 'viewer', 'Vera Sol')
  desk = await sit(browser, site.url, mara)
  await desk.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  page = desk.page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const nextAnswer = (at: Page) => at.getByRole('figure', { name: 'Next answer' })
const shownBody = async (at: Page) => JSON.parse(await nextAnswer(at).locator('[data-body]').innerText())
const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
const resolveByApi = async ({ id, key }: Made, verdict = 'declined') =>
  send(new URL(`/api/admin/keys/${id}/resolve`, site.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: { verdict, reason: 'a script has decided', version: (await recordOf(site.databaseUrl, key)).version },
  })

describe('the key page’s preview of the next answer', () => {
  test('is what a retry of a completed key gets, byte for byte', async () => {
    const made = await place(site)
    await page.goto(`/keys/${made.id}`)
    await expect(page.getByRole('heading', { level: 1, name: made.key })).toBeVisible()
    await expect(page.getByText('Charged USD 25.00 once, and answered 201.')).toBeVisible()
    const retry = await site.client.order(made.key, made.body)
    await page.getByRole('button', { name: 'As sent' }).click()
    await expect.poll(() => nextAnswer(page).locator('[data-body]').innerText()).toBe(String(retry.bytes))
    const shown = await nextAnswer(page).innerText()
    expect(shown).toContain('HTTP/1.1 201 Created')
    for (const name of ['location', 'content-type', 'idempotency-key', 'idempotent-replayed', 'idempotency-expires'])
      expect(shown.toLowerCase()).toContain(`${name}: ${retry.headers[name]}`.toLowerCase())
  })

  test('is what a retry of an unknown key gets', async () => {
    const made = await placeUnknown(site)
    // So that both say the same about when to try again, whatever the second in which they are asked.
    await runSql(site.databaseUrl, 'UPDATE idempotency_records SET reconcile_after = now() WHERE id = $1', [made.id])
    await page.goto(`/keys/${made.id}`)
    const retry = await site.client.order(made.key, made.body)
    expect(await shownBody(page)).toEqual(retry.json())
    await expect(nextAnswer(page)).toContainText(`HTTP/1.1 ${retry.status} Conflict`)
  })

  test('says of a retryable key that the next request calls the provider', async () => {
    const made = await place(site, { paymentMethod: 'pm_refused_once' })
    await page.goto(`/keys/${made.id}`)
    await expect(page.getByText('the next request claims the key and calls the provider')).toBeVisible()
    expect((await site.client.order(made.key, made.body)).status).toBe(201)
  })

  test('masks the client’s free text', async () => {
    const made = await place(site, { note: 'leave at the door' })
    await page.goto(`/keys/${made.id}`)
    await expect(nextAnswer(page)).toContainText('"note": "••••••"')
    await expect(page.getByText('Exactly this, but for note: masked here.')).toBeVisible()
    expect(await page.content()).not.toContain('leave at the door')
  })
})

describe('the button “Ask the provider”', () => {
  test('settles an unknown key when the answer is proof, and shows what was found', async () => {
    const made = await place(site, { paymentMethod: 'pm_timeout_charged' })
    await page.goto(`/keys/${made.id}`)
    await expect(page.getByText('May have charged USD 25.00. The provider has not been asked yet.')).toBeVisible()
    await page.getByRole('button', { name: 'Ask the provider' }).click()
    await expect(page.getByText('The provider has it')).toBeVisible()
    await expect(page.getByText('The key is completed now.')).toBeVisible()
    await expect(timeline(page).getByText('Mara Lindqvist asked the provider: charged')).toBeVisible()
    await expect(page.getByRole('status').filter({ hasText: 'Changed since you opened it' })).toBeVisible()
    await expect(page.getByRole('region', { name: 'Evidence' })).toContainText('0 of 9 fields differ')
    expect((await recordOf(site.databaseUrl, made.key)).state).toBe('completed')
    expect(await auditOf(site.databaseUrl, made.id)).toMatchObject([{ action: 'key.reconcile', actor_id: mara.id }])
  })

  test('changes nothing when the provider is unreachable', async () => {
    const made = await placeUnknown(site)
    await page.goto(`/keys/${made.id}`)
    const before = await recordOf(site.databaseUrl, made.key)
    await page.getByRole('button', { name: 'Ask the provider' }).click()
    await expect(page.getByText('The provider could not be reached.')).toBeVisible()
    expect(await recordOf(site.databaseUrl, made.key)).toEqual(before)
  })

  test('fetches the amount of a completed key, and changes nothing', async () => {
    const made = await place(site)
    const before = await recordOf(site.databaseUrl, made.key)
    await page.goto(`/keys/${made.id}`)
    const amount = page.getByRole('row', { name: /Amount/ })
    await expect(amount).toContainText('not fetched')
    await page.getByRole('button', { name: 'Ask the provider' }).click()
    await expect(page.getByText('The key stays as it is.')).toBeVisible()
    await expect(amount).not.toContainText('not fetched')
    expect(await recordOf(site.databaseUrl, made.key)).toEqual(before)
  })
})

describe('the button “Expire…”', () => {
  test('expires a completed key, whose retry then gets 410', async () => {
    const made = await place(site)
    await page.goto(`/keys/${made.id}`)
    await page.getByRole('button', { name: 'Expire…' }).click()
    await expect(dialogOf(page)).toContainText('410')
    await expect(dialogOf(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
    await dialogOf(page).getByRole('button', { name: 'Expire', exact: true }).click()
    await expect(dialogOf(page).getByText('Say why.')).toBeVisible()
    await dialogOf(page).getByLabel('Reason').fill('The tenant asked for it.')
    await dialogOf(page).getByRole('button', { name: 'Expire', exact: true }).click()
    await expect(dialogOf(page)).toBeHidden()
    await expect(page.getByText('It has expired since.')).toBeVisible()
    await expect(timeline(page).getByText('Expired by Mara Lindqvist')).toBeVisible()
    const retry = await site.client.order(made.key, made.body)
    expect(retry.status).toBe(410)
    await expect.poll(() => shownBody(page)).toEqual(retry.json())
    expect(await auditOf(site.databaseUrl, made.id)).toMatchObject([
      { action: 'key.expire', reason: 'The tenant asked for it.' },
    ])
  })

  test('is disabled for an unknown key, with the reason', async () => {
    const made = await placeUnknown(site)
    await page.goto(`/keys/${made.id}`)
    const button = page.getByRole('button', { name: 'Expire…' })
    await expect(button).toBeDisabled()
    await expect(button).toHaveAccessibleDescription('Off: the customer may have been charged. Resolve it first.')
    await button.click({ force: true })
    await expect(dialogOf(page)).toBeHidden()
  })
})

describe('unmasking a request on the key page', () => {
  test('needs a reason, is audited, and puts the whole request into the curl command', async () => {
    const made = await place(site, { note: 'leave at the door' })
    await page.goto(`/keys/${made.id}`)
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await expect.poll(clipboard).toContain('# Without paymentMethod and note')
    await page.getByRole('button', { name: 'Unmask, goes into the audit log' }).click()
    await dialogOf(page).getByRole('button', { name: 'Unmask' }).click()
    await expect(dialogOf(page).getByText('Say why.')).toBeVisible()
    await dialogOf(page).getByLabel('Reason').fill('The customer is on the phone.')
    await dialogOf(page).getByRole('button', { name: 'Unmask' }).click()
    await expect(page.getByRole('row', { name: /Payment method/ })).toContainText('pm_ok')
    await expect(nextAnswer(page)).toContainText('leave at the door')
    await expect(timeline(page).getByText('Mara Lindqvist unmasked the request')).toBeVisible()
    await page.getByRole('button', { name: 'Copied' }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await expect.poll(clipboard).toContain(JSON.stringify(made.body))
    expect(await clipboard()).toContain('Bearer $ONCEOVER_API_KEY')
    expect(await auditOf(site.databaseUrl, made.id)).toEqual([
      { actor_id: mara.id, action: 'key.unmask', outcome: 'done', reason: 'The customer is on the phone.' },
    ])
    await page.reload()
    await expect(page.getByRole('row', { name: /Payment method/ })).not.toContainText('pm_ok')
  })
})

test('the key page shows a viewer every action as disabled, with the reason', async () => {
  const made = await placeUnknown(site)
  const seat = await sit(browser, site.url, vera)
  await seat.page.goto(`/keys/${made.id}`)
  await expect(seat.page.getByText('May have charged USD 25.00')).toBeVisible()
  for (const name of ['Ask the provider', 'Resolve…', 'Expire…', 'Unmask, goes into the audit log']) {
    const button = seat.page.getByRole('button', { name })
    await expect(button).toBeDisabled()
    await expect(button).toHaveAccessibleDescription(/this takes the role operator; yours is viewer/)
    await button.click({ force: true })
    await expect(dialogOf(seat.page)).toBeHidden()
  }
  expect(await auditOf(site.databaseUrl, made.id)).toEqual([])
  expect(await violations(seat.page)).toEqual([])
  await seat.context.close()
})

test('the key page shows a change made elsewhere without a reload', async () => {
  const made = await placeUnknown(site)
  await page.goto(`/keys/${made.id}`)
  await expect(page.getByText('May have charged USD 25.00')).toBeVisible()
  expect((await resolveByApi(made)).status).toBe(200)
  const notice = page.getByRole('status').filter({ hasText: 'Changed since you opened it' })
  await expect(notice).toContainText('Completed', { timeout: 20_000 })
  await expect(page.getByText('Declined by the provider, and answered 402. Nothing was charged.')).toBeVisible()
  await notice.getByRole('button', { name: 'Dismiss' }).click()
  await expect(notice).toBeHidden()
})

test('on the key page J and K move through the list from which it was opened', async () => {
  const older = await placeUnknown(site)
  await place(site)
  const newer = await placeUnknown(site)
  const from = `?from=${encodeURIComponent('state=unknown')}`
  await page.goto(`/keys/${older.id}${from}`)
  await expect(page.getByRole('link', { name: 'Newer' })).toHaveAttribute('href', `/keys/${newer.id}${from}`)
  // A press that comes before the page listens is lost; pressed again on the newest key, K leads nowhere.
  await expect(async () => {
    await page.keyboard.press('k')
    await expect(page.getByRole('heading', { level: 1, name: newer.key })).toBeVisible({ timeout: 20_000 })
  }).toPass()
  await expect(page.getByRole('link', { name: 'Keys', exact: true }).last()).toHaveAttribute(
    'href',
    '/keys?state=unknown',
  )
  await expect(page.getByRole('button', { name: 'Newer' })).toBeDisabled()
  await expect(async () => {
    // Pressed once more on the older key, J would lead on.
    if (await page.getByRole('heading', { level: 1, name: newer.key }).isVisible()) await page.keyboard.press('j')
    await expect(page.getByRole('heading', { level: 1, name: older.key })).toBeVisible({ timeout: 20_000 })
  }).toPass()
})

test('the key page’s timeline shows misuse, replays and a second attempt', async () => {
  const made = await place(site, { paymentMethod: 'pm_refused_once' })
  expect((await site.client.order(made.key, made.body)).status).toBe(201)
  await site.client.order(made.key, { ...made.body, currency: 'EUR' })
  await site.client.order(made.key, made.body)
  await expect
    .poll(
      async () => {
        await page.goto(`/keys/${made.id}`)
        return timeline(page).innerText()
      },
      { timeout: 20_000 },
    )
    .toMatch(/Replayed once/)
  const list = timeline(page)
  await expect(list).toContainText('Not executed, client got 503')
  await expect(list).toContainText('Claimed again')
  await expect(list).toContainText('422. $.currency differs.')
  await expect(page.getByRole('figure', { name: 'Timeline, drawn to scale' })).toBeVisible()
})

test('a refund’s key has the same page, with a link to its order’s key', async () => {
  const made = await place(site)
  const [orderId] = [(await site.client.order(made.key, made.body)).json<{ id: string }>().id]
  const key = freshKey()
  expect((await site.client.refund(orderId, key, { amountCents: 500, reason: 'sandbox:timeout_charged' })).status).toBe(
    504,
  )
  const { id } = await recordOf(site.databaseUrl, key)
  await page.goto(`/keys/${id}`)
  await expect(page.getByText('May have given back USD 5.00. The provider has not been asked yet.')).toBeVisible()
  await page.getByRole('button', { name: 'Ask the provider' }).click()
  await expect(page.getByText('Gave back USD 5.00 once, and answered 201.')).toBeVisible()
  await page.getByRole('link', { name: /^ord_/ }).click()
  await expect(page.getByRole('heading', { level: 1, name: made.key })).toBeVisible()
  await expect(page.getByText('USD 5.00 of it was given back since.')).toBeVisible()
})

test('the page of a key that does not exist is a 404 within the console', async () => {
  for (const id of ['idem_00000000000000000000000000', 'nonsense']) {
    const answer = await page.goto(`/keys/${id}`)
    expect(answer?.status()).toBe(404)
    await expect(page.getByRole('heading', { level: 1, name: 'No such key' })).toBeVisible()
    await expect(page.getByRole('navigation', { name: 'Main' })).toBeVisible()
  }
  expect(await violations(page)).toEqual([])
})

describe('the key page has no axe violations and fits the screen', () => {
  let keys: Made[]
  beforeAll(async () => {
    keys = await Promise.all([
      placeUnknown(site),
      place(site, { note: 'x' }),
      place(site, { paymentMethod: 'pm_refused_once' }),
    ])
  })

  test.each([
    ['light', 1440],
    ['dark', 1440],
    ['light', 320],
    ['dark', 1920],
  ] as const)('%s, %d px', async (theme, width) => {
    await dress(page, theme, width)
    for (const { id } of keys) {
      await page.goto(`/keys/${id}`)
      await expect(page.getByRole('region', { name: 'Evidence' })).toBeVisible()
      expect(await violations(page)).toEqual([])
      await expectToFit(page)
    }
  })
})

test('the key page and what was typed stay while the database is unreachable', async () => {
  const made = await placeUnknown(site)
  // A page that looks by itself complains of what it finds.
  await page.goto('about:blank')
  const seat = await sit(browser, site.url, mara)
  await seat.page.goto(`/keys/${made.id}`)
  await seat.page.getByRole('button', { name: 'Resolve…' }).click()
  await dialogOf(seat.page).getByRole('radio', { name: 'Declined' }).check()
  await dialogOf(seat.page).getByLabel('Reason').fill('Typed before it went away.')
  await withoutDatabase(site, async () => {
    await dialogOf(seat.page).getByRole('button', { name: 'Resolve', exact: true }).click()
    await expect(dialogOf(seat.page).getByRole('alert')).toContainText('The database can’t be reached.')
    await expect(dialogOf(seat.page).getByLabel('Reason')).toHaveValue('Typed before it went away.')
    await seat.page.keyboard.press('Escape')
    await seat.page.getByRole('button', { name: 'Ask the provider' }).click()
    await expect(seat.page.getByRole('alert').first()).toContainText('The database can’t be reached.')
    await expect(seat.page.getByText('Not live since')).toBeVisible()
    await expect(seat.page.getByRole('heading', { level: 1, name: made.key })).toBeVisible()
  })
  await expect(seat.page.getByText('Live,')).toBeVisible()
  await seat.page.getByRole('button', { name: 'Resolve…' }).click()
  await expect(dialogOf(seat.page).getByLabel('Reason')).toHaveValue('Typed before it went away.')
  await dialogOf(seat.page).getByRole('button', { name: 'Resolve', exact: true }).click()
  await expect(dialogOf(seat.page)).toBeHidden()
  expect((await recordOf(site.databaseUrl, made.key)).state).toBe('completed')
  await seat.context.close()
})

test('the key page causes no error in the browser’s console', () => {
  // a page that is not there answers 404, and the browser says so
  expect(desk.complaints.filter((text) => !text.includes('404'))).toEqual([])
})
