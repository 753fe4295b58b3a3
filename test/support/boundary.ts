// The boundary on a database of its own, with a provider that does what the test says. Time is moved by moving the
// record's own instants, and two parties meet at barriers: nothing here sleeps.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, vi } from 'vitest'
import { openNotifications } from '../../lib/db/notifications'
import { type Db, openStore, type Statement, type Store, type Tx } from '../../lib/db/store'
import { problem } from '../../lib/http/problem'
import type { Boundary } from '../../lib/idempotency/boundary'
import type { Operation } from '../../lib/idempotency/operation'
import { type KeyedRequest, type Outcome, run } from '../../lib/idempotency/run'
import { claim } from '../../lib/idempotency/store/claim'
import { openWaiting } from '../../lib/idempotency/waiting'
import { enqueueAccepted } from '../../lib/jobs/enqueue'
import { placeOrder } from '../../lib/orders/place-order'
import { refundOrder } from '../../lib/orders/refund-order'
import type { OrderRequest, RefundRequest } from '../../lib/orders/schema'
import type {
  CallOutcome,
  Effected,
  EffectRequest,
  Gateway,
  LookUpOutcome,
  LookUpRequest,
  ProviderEntry,
} from '../../lib/payments/gateway'
import { cloneDatabase } from './database'

export const TENANT = 'ten_bench'

/** Where one party waits until the test lets it go on, and the test until the party is there. */
export interface Barrier {
  readonly reached: Promise<void>
  pass(): Promise<void>
  open(): void
}

/** @param parties so many have to come before it counts as reached */
export function barrier(parties = 1): Barrier {
  let missing = parties
  let arrive = () => {}
  let open = () => {}
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return {
    reached,
    open,
    pass() {
      if (--missing === 0) arrive()
      return opened
    },
  }
}

type Charged = { kind: 'succeeded'; providerRef: string } & Partial<Effected>
export type Called = Exclude<CallOutcome, { kind: 'succeeded' }> | Charged

export interface ScriptedGateway extends Gateway {
  readonly calls: EffectRequest[]
  readonly lookUps: LookUpRequest[]
  /** What the next calls do, in order; when there is none left, a call succeeds. */
  nextCall(...script: ((request: EffectRequest) => Called | Promise<Called>)[]): void
  /** Likewise; when there is none left, nothing is found. */
  nextLookUp(...script: ((request: LookUpRequest) => LookUpOutcome | Promise<LookUpOutcome>)[]): void
  /** What it has under references; until then it can't be asked for one. */
  knows(...entries: ProviderEntry[]): void
  /** It can't be asked for a reference any more. */
  unreachable(): void
}

export const newRef = (): string => `ch_${randomUUID()}`
/** Of whatever money it was asked for. */
export const charged = (providerRef = newRef()): Charged => ({ kind: 'succeeded', providerRef })
export const declined = (providerRef = newRef()): CallOutcome => ({ kind: 'declined', providerRef })
export const refused = (): CallOutcome => ({ kind: 'not_executed', code: 'connection_refused' })
export const timedOut = (): CallOutcome => ({ kind: 'unclear', code: 'timeout' })
/** The order of `orderOf`, charged. */
export const found = (providerRef = newRef(), other: Partial<Effected> = {}) =>
  ({ kind: 'succeeded', ...effected(providerRef, other) }) as const satisfies LookUpOutcome
export const reported = (
  providerRef: string,
  { kind = 'succeeded', ...other }: Partial<Effected> & { kind?: 'succeeded' | 'declined' } = {},
) => ({ kind, ...effected(providerRef, other) })

function effected(providerRef: string, { effect, amountCents, currency, orderId }: Partial<Effected>): Effected {
  return {
    providerRef,
    effect: effect ?? 'charge',
    amountCents: amountCents ?? 2500,
    currency: currency ?? 'USD',
    orderId: orderId ?? null,
  }
}

export function scriptedGateway(timeLimitMs = 1000): ScriptedGateway {
  const calls: EffectRequest[] = []
  const lookUps: LookUpRequest[] = []
  let entries: ProviderEntry[] | null = null
  const callScript: ((request: EffectRequest) => Called | Promise<Called>)[] = []
  const lookUpScript: ((request: LookUpRequest) => LookUpOutcome | Promise<LookUpOutcome>)[] = []
  return {
    name: 'sandbox',
    timeLimitMs,
    calls,
    lookUps,
    nextCall: (...script) => void callScript.push(...script),
    nextLookUp: (...script) => void lookUpScript.push(...script),
    async execute(request) {
      calls.push(request)
      const outcome = await (callScript.shift() ?? (() => charged()))(request)
      const { kind: effect, amountCents, currency, orderId } = request
      return outcome.kind === 'succeeded' ? { effect, amountCents, currency, orderId, ...outcome } : outcome
    },
    async lookUp(request) {
      lookUps.push(request)
      return (lookUpScript.shift() ?? (() => ({ kind: 'not_found' }) as const))(request)
    },
    knows(...known) {
      entries = known
    },
    unreachable() {
      entries = null
    },
    findByRef: async (kind, ref) =>
      entries ? (entries.find((entry) => entry.kind === kind && entry.ref === ref) ?? null) : 'unreachable',
    listCreated: async () => ({ items: [], next: null }),
  }
}

type Tamper = <Row>(send: () => Promise<Row[]>, statement: Statement) => Promise<Row[]>

/** A store between which and its caller the test stands, at each statement, also inside a transaction. */
export function tampered(store: Store, tamper: Tamper): Store {
  const around = (db: Db): Db => ({
    query: (statement) => tamper(() => db.query(statement), statement),
    transaction: (work) =>
      db.transaction((tx) =>
        work({ client: tx.client, query: (statement) => tamper(() => tx.query(statement), statement) }),
      ),
  })
  return { ...around(store), pastCircuit: around(store.pastCircuit), pool: store.pool, close: () => store.close() }
}

/** The same at the end of each transaction that had such a statement, and of such a statement by itself. */
export function tamperedAtEnd(
  store: Store,
  which: (statement: Statement) => boolean,
  tamper: <T>(send: () => Promise<T>) => Promise<T>,
): Store {
  const around = (db: Db): Db => ({
    query: (statement) => (which(statement) ? tamper(() => db.query(statement)) : db.query(statement)),
    transaction: async (work) => {
      let isMeant = false
      const send = () =>
        db.transaction((tx) =>
          work({
            client: tx.client,
            query: (statement) => {
              isMeant ||= which(statement)
              return tx.query(statement)
            },
          }),
        )
      const result = await send()
      return isMeant ? tamper(async () => result) : result
    },
  })
  return { ...around(store), pastCircuit: around(store.pastCircuit), pool: store.pool, close: () => store.close() }
}

/** Before the first statement of a kind is sent, the test does something; the statement waits for that. */
export function before(store: Store, which: (statement: Statement) => boolean, first: () => Promise<unknown>): Store {
  let done: Promise<unknown> | null = null
  return tampered(store, async (send, statement) => {
    if (which(statement)) {
      done ??= first()
      await done
    }
    return send()
  })
}

/** Statements of the library inside a transaction of the test's. */
export function storeOn(client: pg.PoolClient): Db {
  const tx: Tx = { client, query: async ({ text, values }) => (await client.query(text, values as unknown[])).rows }
  return { query: tx.query, transaction: (work) => work(tx) }
}

export const isSettle = (statement: Statement): boolean => statement.text.includes("state = 'completed', version")
export const connectionLost = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** Every statement that the pool's connections send, BEGIN and COMMIT too, in the order in which they are sent. */
export function recordStatements(pool: pg.Pool): string[] {
  const sent: string[] = []
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const [first] = args
      sent.push(typeof first === 'string' ? first : (first as { text: string }).text)
      return query(...args)
    }) as typeof client.query
  })
  return sent
}

export interface RecordRow {
  [column: string]: unknown
  id: string
  state: string
  attempt: number
  version: number
  recovery_point: string | null
  external: boolean
  locked_until: Date | null
  settles_at: Date | null
  awaited: boolean
  effect_evidence: boolean
  money_differs: boolean
  in_doubt: boolean
  look_up_progress: string | null
  dead_lettered_at: Date | null
  response_status: number | null
  response_body: string | null
  effect_ref: string | null
  resource_id: string
  last_error_code: string | null
  reconcile_after: Date | null
  created_at: Date
  completed_at: Date | null
  expires_at: Date
  timeline: { event: string; at: string; by: string; attempt?: number }[]
}

export const newKey = (): string => randomUUID()

export const orderOf = (changes: Partial<OrderRequest> = {}): OrderRequest => ({
  customerId: `cus_${randomUUID()}`,
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: 'pm_ok',
  ...changes,
})

export type Asking<Body> = Partial<KeyedRequest<Body>> & { boundary?: Boundary }

export async function openBench(options: { leaseMs?: number; settleMs?: number } = {}) {
  const database = await cloneDatabase()
  const store = openStore(database.url, { max: 30, applicationName: 'bench' })
  const statements = recordStatements(store.pool)
  // The test's own eyes and hands.
  const db = new pg.Pool({ connectionString: database.url, max: 10, application_name: 'bench-test' })
  db.on('error', () => {})
  const line = openNotifications(database.url)
  const boundary: Boundary = {
    store,
    waiting: openWaiting(line),
    nodeId: 'node-1',
    leaseMs: options.leaseMs ?? 60_000,
    settleMs: options.settleMs ?? 120_000,
    defaultRetentionHours: 24,
    requestExpired: problem('request_expired'),
  }

  async function rows<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await db.query(text, values)).rows as Row[]
  }

  async function recordOf(key: string): Promise<RecordRow> {
    const found = await rows<RecordRow>('SELECT * FROM idempotency_records WHERE key = $1', [key])
    expect(found).toHaveLength(1)
    return found[0]!
  }

  function ask<Body, Report>(
    operation: Operation<Body, Report>,
    body: Body,
    asking: Asking<Body> = {},
  ): Promise<Outcome> {
    const { boundary: through = boundary, ...changes } = asking
    return run(through, operation, {
      tenantId: TENANT,
      key: newKey(),
      input: { params: {}, body },
      requestId: `req_${randomUUID()}`,
      retentionHours: null,
      waitMs: 0,
      acceptedAs: null,
      mayCreate: true,
      ...changes,
    })
  }

  return {
    url: database.url,
    store,
    statements,
    db,
    rows,
    boundary,
    recordOf,
    ask,
    /** The same database seen from another node. */
    otherNode: (changes: Partial<Boundary> = {}): Boundary => ({ ...boundary, nodeId: 'node-2', ...changes }),
    placeOrder: (gateway: Gateway) => placeOrder(gateway, problem),
    refundOrder: (gateway: Gateway) => refundOrder(store, gateway, problem),
    place: (gateway: Gateway, body: OrderRequest, asking: Asking<OrderRequest> = {}) =>
      ask(placeOrder(gateway, problem), body, asking),
    refund: (gateway: Gateway, orderId: string, body: RefundRequest, asking: Asking<RefundRequest> = {}) =>
      ask(refundOrder(store, gateway, problem), body, {
        input: { params: { id: orderId }, body },
        ...asking,
      }),
    async paidOrder(amountCents = 2500): Promise<string> {
      const items = [{ sku: 'SKU-1', quantity: 1, unitPriceCents: amountCents }]
      const outcome = await ask(placeOrder(scriptedGateway(), problem), orderOf({ items }))
      return JSON.parse(answerOf(outcome).body).id
    },
    /** As if all of the lease had passed. */
    /** As if an attempt had ended without its owner's proof: the next one looks before it calls. */
    async doubt(key: string): Promise<void> {
      await db.query('UPDATE idempotency_records SET in_doubt = true WHERE key = $1', [key])
    },
    async endLease(key: string): Promise<void> {
      const ended = await db.query(
        `UPDATE idempotency_records SET locked_until = clock_timestamp() - interval '1 ms'
         WHERE key = $1 AND state = 'in_progress'`,
        [key],
      )
      expect(ended.rowCount).toBe(1)
    },
    /** As if all of the retention had passed. */
    async endRetention(key: string): Promise<void> {
      const ended = await db.query(
        `UPDATE idempotency_records SET expires_at = clock_timestamp() - interval '1 ms' WHERE key = $1`,
        [key],
      )
      expect(ended.rowCount).toBe(1)
    },
    /** As if creation plus retention had passed, and the key were kept longer: its last failure moved expiresAt on. */
    async endRerunning(key: string): Promise<void> {
      const ended = await db.query('UPDATE idempotency_records SET retention_seconds = 0.001 WHERE key = $1', [key])
      expect(ended.rowCount).toBe(1)
    },
    /** The statements that the work sends through the store, and nothing else meanwhile. */
    async sentBy(work: () => Promise<unknown>): Promise<string[]> {
      const before = statements.length
      await work()
      return statements.slice(before)
    },
    /** Until so many statements of the store wait for a lock that somebody holds. */
    untilBlocked: (count: number) =>
      vi.waitFor(
        async () => {
          const [row] = await rows<{ blocked: number }>(`
            SELECT count(*)::int AS blocked FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'bench' AND cardinality(pg_blocking_pids(pid)) > 0`)
          expect(row!.blocked).toBe(count)
        },
        { timeout: 30_000, interval: 5 },
      ),
    async transaction(): Promise<pg.PoolClient> {
      const client = await db.connect()
      await client.query('BEGIN')
      return client
    },
    async close(): Promise<void> {
      await line.close()
      await store.close()
      await db.end()
      await database.drop()
    },
  }
}

export type Bench = Awaited<ReturnType<typeof openBench>>

export function answerOf(outcome: Outcome) {
  if (outcome.kind !== 'answered') throw new Error(`answered was expected, not ${outcome.kind}`)
  return outcome.answer
}

/** What a client is told, in short: the status of an answer, or the kind of anything else. */
export const toldBy = (outcome: Outcome): string =>
  outcome.kind === 'answered' ? `${outcome.answer.status}${outcome.replayed ? ' replayed' : ''}` : outcome.kind

export const accepted = { acceptedAs: enqueueAccepted }

/** A claim of a record that was proven not executed, as it was read. */
export const claimOf = (bench: Pick<Bench, 'store'>, { id: recordId, attempt }: Pick<RecordRow, 'id' | 'attempt'>) =>
  claim(
    { store: bench.store },
    {},
    {
      recordId,
      from: 'failed_retryable',
      attempt,
      phase: { name: 'charging', external: true },
      leaseMs: 60_000,
      settleMs: 120_000,
      nodeId: 'node-1',
      requestId: 'req_1',
    },
    {
      recordId,
      tenantId: TENANT,
      resource: { type: 'order', id: 'ord_1' },
      input: { params: {}, body: {} },
      createdAt: new Date(),
    },
  )
