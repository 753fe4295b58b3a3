// One transaction to reserve, whatever happens around it: a free key, a taken one, a rival in the gap.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../lib/db/id'
import type { Statement, Store, Tx } from '../../lib/db/store'
import type { AnyOperation } from '../../lib/idempotency/operation'
import { openBatches } from '../../lib/idempotency/store/batches'
import { type Reservation, type Reserved, reserve, reserveIn, reserving } from '../../lib/idempotency/store/reserve'
import { settleIn, settling } from '../../lib/idempotency/store/settle'
import { type Bench, newKey, openBench, orderOf, scriptedGateway, storeOn, TENANT, tampered } from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

const ENDPOINT = 'POST /api/orders'
const FINGERPRINT = `v1:${'a'.repeat(64)}`

function reservation(changes: Partial<Reservation> = {}): Reservation {
  return {
    recordId: newId('idem'),
    tenantId: TENANT,
    endpoint: ENDPOINT,
    key: newKey(),
    fingerprint: FINGERPRINT,
    input: { params: {}, body: orderOf() },
    requestId: newId('req'),
    resource: { type: 'order', id: newId('ord') },
    retentionSeconds: 3600,
    leaseMs: 60_000,
    settleMs: 120_000,
    nodeId: 'node-1',
    phase: { name: 'charging', external: true },
    mayCreate: true,
    ...changes,
  }
}

const ordering = (): AnyOperation => bench.placeOrder(scriptedGateway())
const reserveOrder = (r: Reservation, store: Store = bench.store): Promise<Reserved> =>
  reserve({ store }, ordering(), r)

const ordersOf = (r: Reservation) => bench.rows('SELECT * FROM orders WHERE record_id = $1', [r.recordId])

const verbs = (sent: string[]) => sent.map((text) => /[A-Z]+( INTO \w+)?/.exec(text)![0])
const RESERVED = ['BEGIN', 'INSERT INTO idempotency_records', 'INSERT INTO orders', 'COMMIT']
const REFUSED = ['BEGIN', 'INSERT INTO idempotency_records', 'COMMIT', 'SELECT']

/** The reservation of a rival, sent in a transaction that is still open. */
async function rivalOf(key: string) {
  const rival = reservation({ key })
  const transaction = await bench.transaction()
  await storeOn(transaction).transaction((tx) => reserveIn(tx, ordering(), [reserving(rival)]))
  return {
    rival,
    async end(how: 'COMMIT' | 'ROLLBACK') {
      await transaction.query(how)
      transaction.release()
    },
  }
}

describe('reserving a free key', () => {
  it('creates a leased record and its order in one transaction', async () => {
    const r = reservation()
    const sent = await bench.sentBy(async () => {
      const reserved = await reserveOrder(r)
      expect(reserved).toMatchObject({
        kind: 'created',
        record: { id: r.recordId, state: 'in_progress', attempt: 1, version: 1 },
      })
    })
    expect(verbs(sent)).toEqual(RESERVED)
    const record = await bench.recordOf(r.key)
    expect(record).toMatchObject({ locked_by: 'node-1', recovery_point: 'charging', external: true, awaited: false })
    expect(record.locked_until!.getTime() - record.created_at.getTime()).toBe(60_000)
    expect(record.settles_at!.getTime() - record.locked_until!.getTime()).toBe(120_000)
    expect(record.expires_at.getTime() - record.created_at.getTime()).toBe(3_600_000)
    expect(record.timeline).toEqual([
      {
        at: expect.any(String),
        event: 'reserved',
        by: 'node-1',
        attempt: 1,
        recoveryPoint: 'charging',
        requestId: r.requestId,
      },
    ])
    expect(await ordersOf(r)).toMatchObject([{ id: r.resource.id, status: 'pending_payment' }])
  })

  it('creates a pending record without a lease when a worker is to run the request', async () => {
    const r = reservation({ phase: null })
    expect(await reserveOrder(r)).toMatchObject({
      kind: 'created',
      record: { state: 'pending', leaseLeftMs: null },
    })
    expect(await bench.recordOf(r.key)).toMatchObject({
      async: true,
      attempt: 0,
      locked_until: null,
      settles_at: null,
      timeline: [{ event: 'accepted' }],
    })
  })

  it('is refused for a tenant that may not create keys, and the key stays free', async () => {
    const r = reservation({ mayCreate: false })
    expect(await reserveOrder(r)).toEqual({ kind: 'not_allowed' })
    expect(await bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [r.key])).toEqual([])
    expect(await ordersOf(r)).toEqual([])
    expect(await reserveOrder({ ...r, mayCreate: true })).toMatchObject({ kind: 'created' })
  })

  it('stores no record when the database refuses an effect of the reservation', async () => {
    const r = reservation()
    const broken: AnyOperation = {
      ...ordering(),
      begin: async (tx) => tx.query({ text: 'INSERT INTO refunds (id) VALUES ($1)', values: [r.recordId] }),
    }
    await expect(reserve({ store: bench.store }, broken, r)).rejects.toMatchObject({ code: '23502' })
    expect(await bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [r.key])).toEqual([])
  })
})

describe('reserving a taken key', () => {
  it('returns the existing record to the second request, which adds nothing', async () => {
    const first = reservation()
    await reserveOrder(first)
    const second = reservation({ key: first.key })
    const sent = await bench.sentBy(async () => {
      expect(await reserveOrder(second)).toMatchObject({
        kind: 'existing',
        record: { id: first.recordId, attempt: 1 },
      })
    })
    expect(verbs(sent)).toEqual(REFUSED)
    expect(await ordersOf(second)).toEqual([])
    expect((await bench.recordOf(first.key)).version).toBe(1)
  })

  it('returns the existing record in one statement to a tenant that may not create keys', async () => {
    const first = reservation()
    await reserveOrder(first)
    const second = reservation({ key: first.key, mayCreate: false })
    const sent = await bench.sentBy(async () => {
      expect(await reserveOrder(second)).toMatchObject({ kind: 'existing', record: { id: first.recordId } })
    })
    expect(verbs(sent)).toEqual(['SELECT'])
  })

  it('creates a new record when the existing one is deleted before it is read', async () => {
    const tombstone = reservation()
    await reserveOrder(tombstone)
    await expire(tombstone.recordId)
    let refused = 0
    const store = tampered(bench.store, async (send, { text }) => {
      const rows = await send()
      if (!text.includes('INSERT INTO idempotency_records') || rows.length > 0 || refused++ > 0) return rows
      await bench.db.query('DELETE FROM idempotency_records WHERE id = $1', [tombstone.recordId])
      return rows
    })
    const mine = reservation({ key: tombstone.key })
    expect(await reserveOrder(mine, store)).toMatchObject({ kind: 'created', record: { id: mine.recordId } })
    expect(refused).toBe(1)
  })

  it('creates a record of its own for another tenant and for another endpoint', async () => {
    const first = reservation()
    await reserveOrder(first)
    const others = [{ tenantId: 'ten_other' }, { endpoint: 'POST /api/orders/{id}/refunds' }]
    for (const other of others)
      expect(await reserveOrder(reservation({ key: first.key, ...other }))).toMatchObject({ kind: 'created' })
    const stored = await bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [first.key])
    expect(stored).toHaveLength(3)
  })
})

describe('a reservation that waits for an uncommitted rival', () => {
  it('finds the rival’s record after the commit, by a newer snapshot than its own', async () => {
    const key = newKey()
    const { rival, end } = await rivalOf(key)
    const mine = reservation({ key })
    const sent = await bench.sentBy(async () => {
      const reserving = reserveOrder(mine)
      await bench.untilBlocked(1)
      await end('COMMIT')
      expect(await reserving).toMatchObject({ kind: 'existing', record: { id: rival.recordId, state: 'in_progress' } })
    })
    expect(verbs(sent)).toEqual(REFUSED)
    expect(await ordersOf(mine)).toEqual([])
  })

  it('creates its own record after the rival rolls back', async () => {
    const key = newKey()
    const { rival, end } = await rivalOf(key)
    const mine = reservation({ key })
    const sent = await bench.sentBy(async () => {
      const reserving = reserveOrder(mine)
      await bench.untilBlocked(1)
      await end('ROLLBACK')
      expect(await reserving).toMatchObject({ kind: 'created', record: { id: mine.recordId } })
    })
    expect(verbs(sent)).toEqual(RESERVED)
    expect(await ordersOf(mine)).toHaveLength(1)
    expect(await ordersOf(rival)).toEqual([])
  })

  it('gets the fingerprint and the lease that the rival committed', async () => {
    const key = newKey()
    const { rival, end } = await rivalOf(key)
    const reserving = reserveOrder(reservation({ key }))
    await bench.untilBlocked(1)
    await end('COMMIT')
    const { record } = (await reserving) as { record: { fingerprint: string; leaseLeftMs: number } }
    expect(record).toMatchObject({ id: rival.recordId, fingerprint: rival.fingerprint })
    expect(record.leaseLeftMs).toBeGreaterThan(50_000)
  })

  it('gets the key when the rival’s deletion of an expired record commits, and the expired record when it rolls back', async () => {
    for (const how of ['COMMIT', 'ROLLBACK'] as const) {
      const tombstone = reservation()
      await reserveOrder(tombstone)
      await expire(tombstone.recordId)
      const transaction = await bench.transaction()
      await transaction.query('DELETE FROM idempotency_records WHERE id = $1', [tombstone.recordId])
      const mine = reservation({ key: tombstone.key })
      const reserving = reserveOrder(mine)
      await bench.untilBlocked(1)
      await transaction.query(how)
      transaction.release()
      expect(await reserving).toMatchObject(
        how === 'COMMIT'
          ? { kind: 'created', record: { id: mine.recordId } }
          : { kind: 'existing', record: { id: tombstone.recordId, state: 'expired' } },
      )
    }
  })
})

describe('fifty simultaneous requests with one key', () => {
  it('create one record and one order; the other forty-nine get that record', async () => {
    const key = newKey()
    const all = Array.from({ length: 50 }, () => reservation({ key }))
    const reserved = await Promise.all(all.map((r) => reserveOrder(r)))
    const created = reserved.filter((one) => one.kind === 'created')
    expect(created).toHaveLength(1)
    const { id } = (created[0] as { record: { id: string } }).record
    for (const one of reserved) expect(one).toMatchObject({ record: { id } })
    const orders = await bench.rows('SELECT record_id FROM orders WHERE record_id = ANY($1)', [
      all.map((r) => r.recordId),
    ])
    expect(orders).toEqual([{ record_id: id }])
  })

  it('make one charge and get the same answer when each runs to its end', async () => {
    const gateway = scriptedGateway()
    const body = orderOf()
    const key = newKey()
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => bench.place(gateway, body, { key, waitMs: 10_000 })),
    )
    expect(gateway.calls).toHaveLength(1)
    const bodies = new Set(
      outcomes.map((outcome) => (outcome.kind === 'answered' ? outcome.answer.body : outcome.kind)),
    )
    expect(bodies.size).toBe(1)
    expect(outcomes.filter((outcome) => outcome.kind === 'answered' && !outcome.replayed)).toHaveLength(1)
    expect(await bench.rows('SELECT 1 FROM orders WHERE customer_id = $1', [body.customerId])).toHaveLength(1)
  })
})

describe('the query plan among twenty thousand records', () => {
  beforeAll(async () => {
    await bench.db.query(
      `INSERT INTO idempotency_records (id, tenant_id, endpoint, key, fingerprint, state, async, attempt, external,
         request, request_id, retention_seconds, created_at, expires_at, timeline)
       SELECT 'idem_plan_' || n, $1, $2, 'key-of-the-plan-' || n, $3, 'pending', true, 0, false, '{}', 'req', 3600,
         clock_timestamp(), clock_timestamp() + interval '1 hour', '[{"event":"accepted"}]'
       FROM generate_series(1, 20000) n`,
      [TENANT, ENDPOINT, FINGERPRINT],
    )
    await bench.db.query('ANALYZE idempotency_records')
  })

  const UNIQUE = 'idempotency_records_tenant_id_endpoint_key_key'

  // A prepared statement is planned for its values at first and for any values later: both must hold.
  describe.each(['force_custom_plan', 'force_generic_plan'])('(%s)', (mode) => {
    it.each(['a free key', 'key-of-the-plan-777'])(
      'of reserving arbitrates by the unique index, and scans none (%s)',
      async (key) => {
        const item = reserving(reservation({ key: key.padEnd(16, '.') }))
        const { plan, text } = await explain(await firstStatement((tx) => reserveIn(tx, ordering(), [item])), mode)
        expect(text).not.toContain('Seq Scan')
        const arbiter = nodes(plan).filter((node) => node['Node Type'] === 'ModifyTable' && node.Operation === 'Insert')
        expect(arbiter.map((node) => node['Conflict Arbiter Indexes']).filter(Boolean)).toEqual([[UNIQUE]])
        expect(nodes(plan).filter((node) => node['Index Name'])).toEqual([])
      },
    )

    it('of settling finds the record by its primary key', async () => {
      const settlement = { answer: { status: 201, headers: {}, body: '{}' } }
      const event = { event: 'settled', by: 'node-1', attempt: 1, requestId: 'req' } as const
      const item = settling({ recordId: 'idem_plan_777', attempt: 1, from: 'in_progress', settlement, event })
      const { plan, text } = await explain(await firstStatement((tx) => settleIn(tx, ordering(), [item])), mode)
      expect(text).not.toContain('Seq Scan')
      expect(nodes(plan).flatMap((node) => node['Index Name'] ?? [])).toEqual(['idempotency_records_pkey'])
    })

    it('of reading a taken key’s record uses the unique index', async () => {
      const r = reservation({ key: 'key-of-the-plan-777', mayCreate: false })
      const { plan } = await explain(
        await firstStatement((tx) => reserve({ store: { ...bench.store, ...tx } }, ordering(), r)),
        mode,
      )
      expect([plan['Node Type'], plan['Index Name']]).toEqual(['Index Scan', UNIQUE])
    })
  })
})

describe('batches', () => {
  it('of two nodes with the same keys in opposite orders do not deadlock, and reserve each key once', async () => {
    const nodes = [openBatches(bench.store), openBatches(bench.store)]
    const operation = ordering()
    const deadlocks = async () =>
      (
        await bench.rows<{ deadlocks: string }>(
          'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
        )
      )[0]!.deadlocks
    const before = await deadlocks()
    for (let round = 0; round < 20; round++) {
      const keys = Array.from({ length: 40 }, newKey)
      const reserved = await Promise.all(
        nodes.flatMap((batches, i) =>
          (i ? keys.toReversed() : keys).map((key) =>
            reserve({ store: bench.store, batches }, operation, reservation({ key })),
          ),
        ),
      )
      expect(reserved.filter(({ kind }) => kind === 'created')).toHaveLength(keys.length)
    }
    expect(await deadlocks()).toBe(before)
  })

  it('reserve other keys while duplicates of one key wait for a rival’s commit', async () => {
    const batches = openBatches(bench.store)
    const operation = ordering()
    const reserveBatched = (changes: Partial<Reservation> = {}) =>
      reserve({ store: bench.store, batches }, operation, reservation(changes))
    const key = newKey()
    const { rival, end } = await rivalOf(key)
    const first = reserveBatched({ key })
    await bench.untilBlocked(1)
    const duplicates = [first, ...Array.from({ length: 9 }, () => reserveBatched({ key }))]
    const fresh = await Promise.all(Array.from({ length: 20 }, () => reserveBatched()))
    expect(fresh.map(({ kind }) => kind)).toEqual(Array(20).fill('created'))
    await end('COMMIT')
    for (const found of await Promise.all(duplicates))
      expect(found).toMatchObject({ kind: 'existing', record: { id: rival.recordId } })
  })

  it('with one reservation that the database refuses reserve the others', async () => {
    const batches = openBatches(bench.store)
    const operation = ordering()
    const resource = { type: 'order', id: newId('ord') }
    await reserve({ store: bench.store, batches }, operation, reservation({ resource }))
    const results = await Promise.allSettled(
      [{}, { resource }, {}].map((changes) =>
        reserve({ store: bench.store, batches }, operation, reservation(changes)),
      ),
    )
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })
})

interface PlanNode {
  [key: string]: unknown
  Plans?: PlanNode[]
}

const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)]

/** What the work sends first, without sending it. */
async function firstStatement(work: (tx: Tx) => Promise<unknown>): Promise<Statement> {
  let first: Statement | undefined
  const query = async (statement: Statement) => {
    first ??= statement
    return []
  }
  await work({ query, client: null as never })
  return first!
}

/** An array as PostgreSQL writes one. */
const literal = (value: unknown): string =>
  Array.isArray(value)
    ? `{${value.map((one) => (one === null ? 'NULL' : JSON.stringify(String(one))))}}`
    : String(value)

async function explain({ text, values }: Statement, mode: string): Promise<{ plan: PlanNode; text: string }> {
  const client = await bench.transaction()
  try {
    await client.query(`SET LOCAL plan_cache_mode = ${mode}`)
    await client.query(`PREPARE reserving AS ${text}`)
    const literals = values.map((value) => (value === null ? 'NULL' : client.escapeLiteral(literal(value))))
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE reserving (${literals.join(', ')})`)
    const { Plan: plan } = rows[0]['QUERY PLAN'][0]
    return { plan, text: JSON.stringify(plan) }
  } finally {
    await client.query('ROLLBACK')
    await client.query('DEALLOCATE ALL')
    client.release()
  }
}

async function expire(recordId: string): Promise<void> {
  const event = `timeline || '[{"event":"test"}]'::jsonb`
  await bench.db.query(
    `UPDATE idempotency_records SET state = 'failed_retryable', version = version + 1, timeline = ${event},
       locked_until = NULL, locked_by = NULL WHERE id = $1`,
    [recordId],
  )
  await bench.db.query(
    `UPDATE idempotency_records SET state = 'expired', version = version + 1, timeline = ${event},
       expired_at = clock_timestamp(), request = NULL WHERE id = $1`,
    [recordId],
  )
}
