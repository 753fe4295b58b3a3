// One database of the benchmark with everything that runs on it: real orders through the boundary, with a provider that
// answers at once, and the daemons.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { newId, newUlid } from '../../lib/db/id'
import { openNotifications } from '../../lib/db/notifications'
import { openStore, type Store } from '../../lib/db/store'
import { problem } from '../../lib/http/problem'
import type { Boundary } from '../../lib/idempotency/boundary'
import { run } from '../../lib/idempotency/run'
import { openWaiting } from '../../lib/idempotency/waiting'
import { sweeper } from '../../lib/maintenance/sweeper'
import { placeOrder } from '../../lib/orders/place-order'
import type { Gateway } from '../../lib/payments/gateway'

const CLIENTS = 4

const gateway: Gateway = {
  name: 'sandbox',
  timeLimitMs: 1000,
  execute: async ({ kind: effect, amountCents, currency, orderId }) => ({
    kind: 'succeeded',
    providerRef: `sbx_ch_${newUlid()}`,
    effect,
    amountCents,
    currency,
    orderId,
  }),
  lookUp: async () => ({ kind: 'not_found' }),
  findByRef: async () => null,
  listCreated: async () => ({ items: [], next: null }),
}

const body = {
  customerId: 'cus_1042',
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: 'pm_ok',
}

export type Subject = ReturnType<typeof openSubject>

export function openSubject(url: string) {
  const db = new pg.Pool({ connectionString: url, max: 2 })
  db.on('error', () => {})
  const store = openStore(url, { max: CLIENTS, applicationName: 'bench' })
  // One connection, so that each statement comes to the plan that PostgreSQL keeps for any parameters.
  const reading = openStore(url, { max: 1, applicationName: 'bench-reads' })
  const line = openNotifications(url)
  const boundary: Boundary = {
    store,
    waiting: openWaiting(line),
    nodeId: 'node-1',
    leaseMs: 60_000,
    settleMs: 120_000,
    defaultRetentionHours: 24,
    requestExpired: problem('request_expired'),
  }
  const place = placeOrder(gateway, problem)

  async function order(): Promise<void> {
    const outcome = await run(boundary, place, {
      tenantId: `ten_${String(Math.floor(20 * Math.random() ** 4)).padStart(2, '0')}`,
      key: randomUUID(),
      input: { params: {}, body },
      requestId: newId('req'),
      retentionHours: null,
      waitMs: 0,
      acceptedAs: null,
      mayCreate: true,
    })
    if (outcome.kind !== 'answered') throw new Error(`an order was ${outcome.kind}`)
  }

  /** Clients that send one order after the other until it is over: how long each took, in ms. */
  async function orders(over: () => boolean): Promise<number[]> {
    const took: number[] = []
    const client = async () => {
      while (!over()) {
        const startedAt = performance.now()
        await order()
        took.push(performance.now() - startedAt)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    return took
  }

  /**
   * Into the memory of the server, which one that has been at work for a day has there: the index that every key has to
   * be new in. Keys are random, so orders touch all of its pages; of everything else they touch the end.
   */
  async function warm(): Promise<void> {
    const client = await db.connect()
    try {
      await client.query('SET enable_seqscan = off')
      await client.query(
        'SELECT count(*) FROM (SELECT key FROM idempotency_records ORDER BY tenant_id, endpoint OFFSET 0) k',
      )
      await client.query('RESET enable_seqscan')
    } finally {
      client.release()
    }
  }

  return {
    db,
    store,
    reading,
    orders,
    warm,
    sweeper: (through: Store) => sweeper({ ...boundary, store: through }, new Map([[place.endpoint, place]])),
    async close() {
      await line.close()
      await Promise.all([store.close(), reading.close(), db.end()])
    },
  }
}

/** A store that adds up how long it was asked for. */
export function timed(store: Store): { store: Store; spentMs(): number } {
  let spent = 0
  const query: Store['query'] = async (statement) => {
    const startedAt = performance.now()
    try {
      return await store.query(statement)
    } finally {
      spent += performance.now() - startedAt
    }
  }
  return { store: { ...store, query }, spentMs: () => spent }
}
