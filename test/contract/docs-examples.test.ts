// What /docs shows is what runs: its shell lines in one shell, its TypeScript as the file that is shown, both against a
// real node.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  type Client,
  type ClientOptions,
  createClient,
  NotKnownYet,
  Refused,
} from '../../app/docs/_examples/onceover-client'
import { type Purchase, payFor } from '../../app/docs/_examples/pay-for-purchase'
import { EXAMPLES, exampleText, RETRIES } from '../../app/docs/_examples/text'
import {
  API_KEY,
  countCharges,
  freshKey,
  type OrderView,
  orderBody,
  type RefundView,
  send,
  until,
} from '../support/client'
import { type Line, openLine } from '../support/line'
import { openSite, type Site } from '../support/site'
import { addTenant, runSql } from '../support/tenant'

let site: Site
/** Between the clients and the node. */
let line: Line
beforeAll(async () => {
  site = await openSite({ RECONCILE_INTERVAL_SECONDS: '0.2' })
  line = await openLine(site.url)
})
afterAll(async () => {
  await line?.close()
  await site?.close()
})

const ENTITIES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&amp;': '&' }

/** The examples as a reader of the page copies them, by the names that they stand under. */
async function shown(): Promise<Map<string, string>> {
  const page = (await send(`${site.url}/docs`)).bytes.toString()
  const figures = page.matchAll(/<figcaption[^>]*>([^<]*)<\/figcaption><pre[^>]*><code[^>]*>([^<]*)<\/code>/g)
  const unescaped = (text: string) => text.replace(/&(lt|gt|quot|#x27|amp);/g, (entity) => ENTITIES[entity]!)
  return new Map([...figures].map(([, name, text]) => [name!, unescaped(text!)]))
}

test('/docs shows every example file, character by character', async () => {
  const onPage = await shown()
  for (const name of [...EXAMPLES, ...RETRIES]) expect(onPage.get(name), name).toBe(exampleText(name))
})

describe('the shell examples of /docs, run in one shell', () => {
  let output: Record<string, string>
  beforeAll(async () => {
    const onPage = await shown()
    const names = EXAMPLES.filter((name) => name.endsWith('.sh'))
    const script = names.map((name) => `echo '=== ${name}'\n${onPage.get(name)}`)
    const folder = mkdtempSync(path.join(tmpdir(), 'onceover-docs-'))
    try {
      const shell = spawn('bash', ['-c', ['set -euo pipefail', ...script].join('\n')], {
        cwd: folder,
        env: { PATH: process.env.PATH, NODE_ENV: 'production', ONCEOVER_URL: site.url, ONCEOVER_API_KEY: API_KEY },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let all = ''
      for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (all += chunk))
      const [code] = await once(shell, 'close')
      expect({ code, said: code === 0 ? '' : all }).toEqual({ code: 0, said: '' })
      output = Object.fromEntries(all.split(/^=== /m).map((part) => part.split(/\n([\s\S]*)/) as [string, string]))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  const statusesOf = (name: string) => [...output[name]!.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)

  test('first-order.sh gets a 201, its replay, and a 422 for a reused key', () => {
    expect(statusesOf('first-order.sh')).toEqual(['201', '201', '422'])
    expect(output['first-order.sh']!.match(/^idempotent-replayed: true/gim)).toHaveLength(1)
    expect(output['first-order.sh']).toContain('"code":"idempotency_key_reused"')
  })

  test('until-final.sh ends with the final 201', () => {
    expect(output['until-final.sh']!.trim()).toBe('201')
  })

  test('refund.sh reads orders and the status of a key, and makes a refund', () => {
    const text = output['refund.sh']!
    expect(text).toContain('"status":"paid"')
    expect(text).toContain('"nextCursor"')
    expect(text).toContain('"state":"completed"')
    expect(statusesOf('refund.sh')).toEqual(['201'])
    expect(text).toContain('"amountCents":500')
  })

  test('later.sh gets a 202 for an accepted order and its 201 later', () => {
    expect(statusesOf('later.sh')).toEqual(['202', '201'])
  })
})

/** The client of the page. It waits a fiftieth of a second where it would wait longer; what it would have is kept. */
function pageClient(options: Partial<ClientOptions> = {}) {
  const pauses: number[] = []
  const client = createClient({
    url: line.url,
    apiKey: API_KEY,
    waitSeconds: 0,
    firstDelayMs: 50,
    pause: (ms) => {
      pauses.push(ms)
      return new Promise((resolve) => setTimeout(resolve, Math.min(ms, 20)))
    },
    ...options,
  })
  return { client, pauses }
}

const place = (client: Client, body: object, key = freshKey()): Promise<Answer<OrderView>> =>
  client.post<OrderView>('/api/orders', key, body)

describe('the TypeScript client of /docs', () => {
  test('retries a 503 (proven not charged) with the same key, and the order is charged once', async () => {
    const { client, pauses } = pageClient()
    const body = orderBody({ paymentMethod: 'pm_refused_once' })
    expect(await place(client, body)).toMatchObject({ status: 201, replayed: false, tries: 2 })
    expect(pauses[0]).toBeGreaterThanOrEqual(2000)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('retries a 504, then 409s, until it gets the response of the single charge', async () => {
    const { client } = pageClient()
    const body = orderBody({ paymentMethod: 'pm_error_once' })
    const answer = await place(client, body)
    expect(answer).toMatchObject({ status: 201, replayed: true, body: { status: 'paid' } })
    expect(answer.tries).toBeGreaterThan(1)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('retries with the same key after its own timeout, and gets the response of the abandoned try', async () => {
    const { client, pauses } = pageClient({ timeoutMs: 300 })
    const body = orderBody({ paymentMethod: 'pm_slow_800' })
    expect(await place(client, body)).toMatchObject({ status: 201, replayed: true })
    // Nobody named a time.
    expect(pauses[0]).toBeLessThan(1000)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  /** An order that the provider takes its time for, sent by another program with the same key. */
  async function underWay() {
    const [key, body] = [freshKey(), orderBody({ paymentMethod: 'pm_slow_800' })]
    const first = site.client.order(key, body)
    await until(
      () => site.client.record(key),
      (record) => record.status === 200,
    )
    return { key, body, first }
  }

  test('waits as long as a 409 demands, then gets the first response as a replay', async () => {
    const { key, body, first } = await underWay()
    const { client, pauses } = pageClient()
    const answer = await place(client, body, key)
    expect(answer).toMatchObject({ status: 201, replayed: true, body: (await first).json() })
    expect(answer.tries).toBeGreaterThan(1)
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(1000)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('with Prefer: wait, gets the replay of a running request in one try, without a 409', async () => {
    const { key, body, first } = await underWay()
    expect(await place(pageClient({ waitSeconds: 10 }).client, body, key)).toMatchObject({ replayed: true, tries: 1 })
    expect((await first).status).toBe(201)
  })

  test('gets a replay when the first response is lost on the network', async () => {
    const { client } = pageClient({ timeoutMs: 500 })
    const body = orderBody()
    const key = freshKey()
    line.swallow('down')
    const answered = place(client, body, key)
    await until(
      () => site.client.record(key),
      (record) => record.status === 200 && record.json<{ state: string }>().state === 'completed',
    )
    await line.heal()
    expect(await answered).toMatchObject({ status: 201, replayed: true })
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('waits after a 429, then succeeds with the same key', async () => {
    const tenant = await addTenant(site.databaseUrl, { newKeysPerMinute: 1 })
    const { client, pauses } = pageClient({
      apiKey: tenant.apiKey,
      giveUpAfterMs: 100_000,
      // The minute is over: what was used in it is forgotten.
      pause: async (ms) => {
        pauses.push(ms)
        await runSql(site.databaseUrl, 'DELETE FROM tenant_usage WHERE tenant_id = $1', [tenant.id])
        await new Promise((resolve) => setTimeout(resolve, 50))
      },
    })
    expect((await place(client, orderBody())).status).toBe(201)
    const body = orderBody()
    const answer = await place(client, body)
    expect(answer).toMatchObject({ status: 201, replayed: false })
    expect(answer.tries).toBeGreaterThan(1)
    // It heard of most of a minute.
    expect(pauses[0]).toBeGreaterThan(30_000)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('throws Refused on a 422 without a retry, and nothing is charged', async () => {
    const { client, pauses } = pageClient()
    const key = freshKey()
    await place(client, orderBody(), key)
    const other = orderBody()
    const error = await place(client, other, key).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(Refused)
    expect(error).toMatchObject({ status: 422, problem: { code: 'idempotency_key_reused' } })
    expect(pauses).toEqual([])
    expect(await countCharges(site.url, other.customerId)).toBe(0)
  })

  test('with respond-async, repeats the request until the worker has finished it', async () => {
    const { client } = pageClient()
    const body = orderBody({ paymentMethod: 'pm_slow_300' })
    const answer = await client.post<OrderView>('/api/orders', freshKey(), body, { respondAsync: true })
    expect(answer).toMatchObject({ status: 201, body: { status: 'paid' } })
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('makes a refund with its own key', async () => {
    const { client } = pageClient()
    const { body: order } = await place(client, orderBody())
    const answer = await client.post<RefundView>(`/api/orders/${order.id}/refunds`, freshKey(), { amountCents: 500 })
    expect(answer).toMatchObject({ status: 201, body: { orderId: order.id, amountCents: 500 } })
    expect((await client.get<OrderView>(`/api/orders/${order.id}`)).body.refundedCents).toBe(500)
  })

  test('throws NotKnownYet when an outcome stays unknown', async () => {
    const { client } = pageClient({ giveUpAfterMs: 2500 })
    const error = await place(client, orderBody({ paymentMethod: 'pm_unreachable' })).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(NotKnownYet)
  })
})

describe('the purchase example of /docs', () => {
  const open = (paymentMethod: string): Purchase & { order: ReturnType<typeof orderBody> } => ({
    key: freshKey(),
    order: orderBody({ paymentMethod }),
    state: 'open',
  })

  test('is charged once when payFor runs twice', async () => {
    const purchase = open('pm_ok')
    const paid = await payFor(pageClient().client, purchase)
    expect(paid).toMatchObject({ state: 'paid', orderId: expect.stringMatching(/^ord_/) })
    expect(await payFor(pageClient().client, purchase)).toEqual(paid)
    expect(await countCharges(site.url, purchase.order.customerId)).toBe(1)
  })

  test('stays open with its key while the outcome is unknown, and is paid when payFor runs again', async () => {
    const purchase = open('pm_error_once')
    const still = await payFor(pageClient({ giveUpAfterMs: 0 }).client, purchase)
    expect(still).toMatchObject({ state: 'open', key: purchase.key, nextTryAt: expect.any(Date) })
    expect(await payFor(pageClient().client, still)).toMatchObject({ state: 'paid' })
    expect(await countCharges(site.url, purchase.order.customerId)).toBe(1)
  })

  test('ends as not_paid when the payment is declined', async () => {
    const purchase = open('pm_declined')
    expect(await payFor(pageClient().client, purchase)).toMatchObject({ state: 'not_paid' })
  })

  test('gets its real state without a second charge when payFor runs after the key expired', async () => {
    const { apiKey } = await addTenant(site.databaseUrl, { retentionHours: 0.3 / 3600 })
    const { client } = pageClient({ apiKey })
    const [wanted, refused] = [open('pm_ok'), open('pm_declined')]
    const { orderId } = await payFor(client, wanted)
    await payFor(client, refused)
    const expired = (purchase: Purchase) =>
      until(
        () =>
          send(`${site.url}/api/idempotency-keys/${purchase.key}`, { headers: { authorization: `Bearer ${apiKey}` } }),
        (answer) => answer.status === 410,
      )
    await Promise.all([expired(wanted), expired(refused)])
    expect(await payFor(client, wanted)).toMatchObject({ state: 'paid', orderId })
    expect(await payFor(client, refused)).toMatchObject({ state: 'not_paid' })
    expect(await countCharges(site.url, wanted.order.customerId)).toBe(1)
  })

  test('makes payFor throw the 422 when its key belongs to another order', async () => {
    const first = open('pm_ok')
    await payFor(pageClient().client, first)
    const second = { ...open('pm_ok'), key: first.key }
    await expect(payFor(pageClient().client, second)).rejects.toMatchObject({ status: 422 })
    expect(await countCharges(site.url, second.order.customerId)).toBe(0)
  })
})
