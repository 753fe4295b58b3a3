// The queue of keys whose outcome nobody knows yet: those that only a person moves on first, the longest waiting on top;
// then the others, by when they are asked about next. A page of each: whoever wants all of them takes the list of keys.
import sql, { raw, type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import { UNKNOWN_SINCE } from '../idempotency/store/event'
import { instant } from './instant'

export interface QueuedKey {
  id: string
  key: string
  endpoint: string
  tenantId: string
  tenantName: string | null
  amountCents: number | null
  currency: string | null
  /** Since when its outcome is unknown. */
  since: string
  code: string | null
  lastLookUp: { at: string; verdict: string } | null
  lookUps: number
  nextAt: string | null
  deadLetteredAt: string | null
}

export interface UnknownQueue {
  deadLetters: QueuedKey[]
  waiting: QueuedKey[]
  /** Counted no further than anybody would read. */
  counts: { deadLetters: number; waiting: number; givenUp: number }
  oldestSince: string | null
  maxLookUps: number
}

const MOST_SHOWN = 20
const MOST_COUNTED = 10_000

interface Row extends Omit<QueuedKey, 'amountCents' | 'since' | 'lastLookUp' | 'nextAt' | 'deadLetteredAt'> {
  amountCents: string | null
  since: Date
  lastLookUp: { at: string; verdict: string } | null
  nextAt: Date | null
  deadLetteredAt: Date | null
}

const DEAD = raw(`r.state = 'unknown' AND r.dead_lettered_at IS NOT NULL`)
const WAITING = raw(`r.state = 'unknown' AND r.dead_lettered_at IS NULL`)
/** The worker’s own dead letters: proven not executed, and past their creation plus their retention. */
const GIVEN_UP = raw(`r.state = 'failed_retryable' AND r.dead_lettered_at IS NOT NULL`)

export type QueueOrder = 'next' | 'oldest'

/** Whose last lease ended first has been unknown for longest. */
const ORDERS: Record<QueueOrder, Sql> = { next: raw('r.reconcile_after'), oldest: raw('r.settles_at') }

export async function readUnknownQueue(
  store: Pick<Store, 'query'>,
  { order, maxLookUps }: { order: QueueOrder; maxLookUps: number },
): Promise<UnknownQueue> {
  const [deadLetters, waiting, [counted]] = await Promise.all([
    store.query<Row>(queued(DEAD, raw('r.dead_lettered_at'))),
    store.query<Row>(queued(WAITING, ORDERS[order])),
    store.query<{ dead: number; waiting: number; given_up: number; oldest: Date | null }>(sql`
      SELECT ${many(DEAD)} AS dead, ${many(WAITING)} AS waiting, ${many(GIVEN_UP)} AS given_up,
        least(${oldest(DEAD)}, ${oldest(WAITING)}) AS oldest`),
  ])
  const { dead, waiting: others, given_up: givenUp, oldest: oldestSince } = counted!
  return {
    deadLetters: deadLetters.map(toQueued),
    waiting: waiting.map(toQueued),
    counts: { deadLetters: dead, waiting: others, givenUp },
    oldestSince: oldestSince?.toISOString() ?? null,
    maxLookUps,
  }
}

const many = (which: Sql): Sql => sql`(SELECT count(*)::int FROM (
  SELECT FROM idempotency_records r WHERE ${which} LIMIT ${raw(String(MOST_COUNTED))}) few)`

// In the order of the index: whose last lease ended first has been unknown for longest.
const oldest = (which: Sql): Sql => sql`(
  SELECT ${UNKNOWN_SINCE} FROM idempotency_records r WHERE ${which} ORDER BY r.dead_lettered_at, r.settles_at LIMIT 1)`

const queued = (which: Sql, order: Sql): Sql => sql`
  SELECT r.id, r.key, r.endpoint, r.tenant_id AS "tenantId", t.name AS "tenantName",
    coalesce(f.amount_cents, o.amount_cents) AS "amountCents", o.currency, coalesce(${UNKNOWN_SINCE}, r.created_at) AS since,
    r.last_error_code AS code, r.reconcile_attempts AS "lookUps", r.reconcile_after AS "nextAt",
    r.dead_lettered_at AS "deadLetteredAt",
    (SELECT json_build_object('at', e->>'at', 'verdict', e->>'verdict')
     FROM jsonb_array_elements(r.timeline) WITH ORDINALITY AS x (e, n)
     WHERE e->>'event' = 'looked_up' ORDER BY n DESC LIMIT 1) AS "lastLookUp"
  FROM (SELECT * FROM idempotency_records r WHERE ${which} ORDER BY ${order}, r.id LIMIT ${raw(String(MOST_SHOWN))}) r
    LEFT JOIN tenants t ON t.id = r.tenant_id
    LEFT JOIN refunds f ON f.record_id = r.id
    LEFT JOIN orders o ON o.id = coalesce(f.order_id, r.resource_id)
  ORDER BY ${order}, r.id`

const toQueued = (row: Row): QueuedKey => ({
  ...row,
  amountCents: row.amountCents === null ? null : Number(row.amountCents),
  since: row.since.toISOString(),
  lastLookUp: row.lastLookUp && { ...row.lastLookUp, at: instant(row.lastLookUp.at) },
  nextAt: row.nextAt?.toISOString() ?? null,
  deadLetteredAt: row.deadLetteredAt?.toISOString() ?? null,
})
