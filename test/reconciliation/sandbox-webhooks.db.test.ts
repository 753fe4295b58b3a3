// The sandbox's reports: one for each entry, written with it, delivered until it was taken in, shared by the nodes.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { ulid } from 'ulid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EffectRequest } from '../../lib/payments/gateway'
import { createSandbox } from '../../lib/payments/sandbox'
import { deliverDue, startSandboxWebhooks } from '../../lib/payments/sandbox-webhooks'
import { parseSandboxEvent } from '../../lib/payments/sandbox-webhooks-event'
import { storedWebhookSecret, takeDueReports } from '../../lib/payments/sandbox-webhooks-outbox'
import { barrier } from '../support/boundary'
import { cloneDatabase } from '../support/database'

// Deliveries that fail are told of, and here they fail on purpose.
process.env.LOG_LEVEL = 'silent'

const SECRET = 'a secret of both ends'
const DELAY_MS = 500

let database: Awaited<ReturnType<typeof cloneDatabase>>
let pool: pg.Pool
let server: http.Server
let received: { body: string; signature: string | null; url: string | undefined }[]
let answer: (event: { id: string }) => number | Promise<number>

beforeAll(async () => {
  database = await cloneDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 20 })
  server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const header = request.headers['sandbox-signature']
    received.push({ body, signature: typeof header === 'string' ? header : null, url: request.url })
    response.statusCode = await answer(JSON.parse(body))
    response.setHeader('location', '/elsewhere')
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await pool.query('TRUNCATE sandbox.events, sandbox.charges, sandbox.attempts, sandbox.secrets')
  received = []
  answer = () => 200
})

const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/webhooks/sandbox`
const webhooks = () => ({ pool, delayMs: DELAY_MS, secret: async () => SECRET, url })
const sandbox = (changes: { idempotent?: boolean; webhookDelayMs?: number | null } = {}) =>
  createSandbox({ pool, idempotent: true, timeLimitMs: 5000, webhookDelayMs: DELAY_MS, ...changes })

function charge(changes: Partial<EffectRequest> = {}): EffectRequest {
  const id = ulid().toLowerCase()
  return {
    kind: 'charge',
    providerKey: `onceover-idem_${id}`,
    keyDigest: `digest_${id}`,
    fingerprint: `v1:${id}`,
    orderId: `ord_${id}`,
    customerId: `cus_${id}`,
    amountCents: 2500,
    currency: 'EUR',
    paymentMethod: 'pm_ok',
    ...changes,
  }
}

interface EventRow {
  id: string
  charge_ref: string
  after_booking_ms: number
  due_in_ms: number
  attempts: number
  delivered: boolean
}
const rows = async () =>
  (
    await pool.query<EventRow>(`
      SELECT e.id, e.charge_ref, e.attempts, e.delivered_at IS NOT NULL AS delivered,
        (extract(epoch FROM e.due_at - c.booked_at) * 1000)::int AS after_booking_ms,
        (extract(epoch FROM e.due_at - clock_timestamp()) * 1000)::int AS due_in_ms
      FROM sandbox.events e JOIN sandbox.charges c ON c.ref = e.charge_ref ORDER BY c.booked_at, e.id`)
  ).rows
const makeDue = () =>
  pool.query(`UPDATE sandbox.events SET due_at = clock_timestamp() - interval '1 ms' WHERE delivered_at IS NULL`)

describe('an entry of the sandbox', () => {
  it('has no webhook report when no delay is configured', async () => {
    await sandbox({ webhookDelayMs: null }).execute(charge())
    expect(await rows()).toEqual([])
  })

  it('is stored with its webhook report, due after the configured delay', async () => {
    await sandbox().execute(charge())
    await sandbox({ webhookDelayMs: 0 }).execute(charge())
    expect(await rows()).toMatchObject([
      { after_booking_ms: DELAY_MS, attempts: 0, delivered: false },
      { after_booking_ms: 0 },
    ])
  })

  it('is reported also when it is a decline or a refund', async () => {
    await sandbox().execute(charge({ paymentMethod: 'pm_declined' }))
    await sandbox().execute(charge({ kind: 'refund', reason: null }))
    expect(await rows()).toHaveLength(2)
  })

  it('that is booked late is reported after its booking', async () => {
    const late = charge({ paymentMethod: 'pm_late_60000_once' })
    const hurried = createSandbox({ pool, idempotent: true, timeLimitMs: 300, webhookDelayMs: DELAY_MS })
    await hurried.execute(late)
    const [report] = await rows()
    expect(report).toMatchObject({ after_booking_ms: DELAY_MS })
    expect(report!.due_in_ms).toBeGreaterThan(50_000)
    // The next attempt is what books it; its report comes earlier with it.
    await sandbox().execute(late)
    const [moved, ...others] = await rows()
    expect(others).toEqual([])
    expect(moved!.due_in_ms).toBeLessThanOrEqual(DELAY_MS)
  })

  it('has one report when its booking is repeated, also concurrently', async () => {
    const request = charge()
    await Promise.all(Array.from({ length: 10 }, () => sandbox().execute(request)))
    expect(await rows()).toHaveLength(1)
    await makeDue()
    await deliverDue(webhooks())
    await sandbox().execute(request)
    expect(await rows()).toMatchObject([{ delivered: true }])
  })

  it('has one report per booking when the provider has no idempotency keys', async () => {
    const request = charge()
    await sandbox({ idempotent: false }).execute(request)
    await sandbox({ idempotent: false }).execute(request)
    expect(new Set((await rows()).map(({ id }) => id)).size).toBe(2)
  })
})

describe('a webhook delivery', () => {
  it('is signed, and describes the charge', async () => {
    const request = charge()
    const outcome = await sandbox().execute(request)
    expect(await deliverDue(webhooks())).toBe(0)
    await makeDue()
    expect(await deliverDue(webhooks())).toBe(1)
    const [{ id }] = (await rows()) as [EventRow]
    const ref = 'providerRef' in outcome ? outcome.providerRef : ''
    expect(received).toHaveLength(1)
    const [{ body, signature, url: path }] = received as [(typeof received)[0]]
    expect(path).toBe('/api/webhooks/sandbox')
    expect(JSON.parse(body)).toEqual({
      id,
      type: 'charge.succeeded',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        ref,
        providerKey: request.providerKey,
        kind: 'charge',
        status: 'succeeded',
        amountCents: 2500,
        currency: 'EUR',
        orderId: request.orderId,
        customerId: request.customerId,
      },
    })
    expect(id).toMatch(/^evt_/)
    expect(parseSandboxEvent(body, signature, SECRET, Date.now())).toEqual({
      kind: 'genuine',
      event: {
        id,
        providerKey: request.providerKey,
        outcome: {
          kind: 'succeeded',
          providerRef: ref,
          effect: 'charge',
          amountCents: 2500,
          currency: 'EUR',
          orderId: request.orderId,
        },
      },
    })
    expect(await rows()).toMatchObject([{ delivered: true, attempts: 1 }])
    await makeDue()
    expect(await deliverDue(webhooks())).toBe(0)
  })

  it.each([302, 400, 404, 500, 503])('that is answered with %i is repeated with growing delays', async (status) => {
    answer = () => status
    await sandbox().execute(charge())
    const pauses: number[] = []
    for (let attempt = 1; attempt <= 4; attempt++) {
      await makeDue()
      await deliverDue(webhooks())
      const [row] = await rows()
      expect(row).toMatchObject({ delivered: false, attempts: attempt })
      pauses.push(Math.round(row!.due_in_ms / 1000))
    }
    expect(pauses).toEqual([1, 2, 4, 8])
    expect(received).toHaveLength(4)
    answer = () => 204
    await makeDue()
    await deliverDue(webhooks())
    expect(await rows()).toMatchObject([{ delivered: true, attempts: 5 }])
  })

  it('is repeated when its connection is refused', async () => {
    await sandbox().execute(charge())
    await makeDue()
    await deliverDue({ ...webhooks(), url: () => 'http://127.0.0.1:1/' })
    const [row] = await rows()
    expect(row).toMatchObject({ delivered: false, attempts: 1 })
    expect(row!.due_in_ms).toBeLessThanOrEqual(1000)
  })

  it('skips a report that another node has locked, without waiting', async () => {
    await sandbox().execute(charge())
    await makeDue()
    const other = await pool.connect()
    await other.query('BEGIN')
    expect(await takeDueReports(other as unknown as pg.Pool, 10)).toHaveLength(1)
    expect(await deliverDue(webhooks())).toBe(0)
    await other.query('COMMIT')
    other.release()
    expect(await deliverDue(webhooks())).toBe(0)
    expect(received).toEqual([])
  })

  it('is made once when two nodes deliver at the same time', async () => {
    for (let i = 0; i < 30; i++) await sandbox().execute(charge())
    await makeDue()
    const [first, second] = await Promise.all([deliverDue(webhooks()), deliverDue(webhooks())])
    expect(first + second).toBe(30)
    expect(new Set(received.map(({ body }) => JSON.parse(body).id)).size).toBe(30)
    expect(received).toHaveLength(30)
  })

  it('of a dead node is repeated only after the node’s hold on it has run out', async () => {
    await sandbox().execute(charge())
    await makeDue()
    expect(await takeDueReports(pool, 10)).toHaveLength(1)
    expect(await deliverDue(webhooks())).toBe(0)
    const [row] = await rows()
    expect(row!.due_in_ms).toBeGreaterThan(25_000)
    await makeDue()
    expect(await deliverDue(webhooks())).toBe(1)
    expect(await rows()).toMatchObject([{ delivered: true, attempts: 2 }])
  })
})

describe('a node that delivers webhooks', () => {
  it('delivers due reports until it is stopped', async () => {
    const running = startSandboxWebhooks({ ...webhooks(), delayMs: 50 })
    await sandbox({ webhookDelayMs: 50 }).execute(charge())
    await expect.poll(() => received.length).toBe(1)
    await expect.poll(async () => (await rows())[0]?.delivered).toBe(true)
    await running.stop()
    expect(received).toHaveLength(1)
  })

  it('aborts its delivery when it stops, and leaves the report to other nodes', async () => {
    const held = barrier()
    answer = async () => {
      await held.pass()
      return 200
    }
    await sandbox({ webhookDelayMs: 0 }).execute(charge())
    const running = startSandboxWebhooks({ ...webhooks(), delayMs: 50 })
    await held.reached
    await running.stop()
    held.open()
    const [row] = await rows()
    expect(row).toMatchObject({ delivered: false, attempts: 1 })
    expect(row!.due_in_ms).toBeLessThanOrEqual(1000)
    answer = () => 200
    await makeDue()
    await deliverDue(webhooks())
    expect(await rows()).toMatchObject([{ delivered: true }])
  })

  it('retries after a failed database query', async () => {
    let lost = true
    const query = (...args: [never]) => {
      if (!lost) return pool.query(...args)
      lost = false
      return Promise.reject(new Error('connection terminated'))
    }
    const flaky = { query } as unknown as pg.Pool
    await sandbox({ webhookDelayMs: 0 }).execute(charge())
    const running = startSandboxWebhooks({ ...webhooks(), pool: flaky, delayMs: 50 })
    await expect.poll(() => received.length).toBe(1)
    await running.stop()
  })
})

describe('the stored webhook secret', () => {
  it('is created once, and nodes that start simultaneously get the same one', async () => {
    const secrets = await Promise.all(Array.from({ length: 10 }, () => storedWebhookSecret(pool)))
    expect(new Set(secrets).size).toBe(1)
    expect(secrets[0]).toMatch(/^whsec_.{32}$/)
    expect(await storedWebhookSecret(pool)).toBe(secrets[0])
  })
})
