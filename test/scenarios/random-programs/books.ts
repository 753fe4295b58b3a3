// What clients were told against what is written down: the provider's own books, our ledger, the orders and the
// records. Whatever a program did, each request moved money at most once, and everybody's books agree.
import type { State } from '../../../lib/idempotency/states'
import { ORDERS } from '../../support/client'
import { illegalities, type TimelineEvent } from '../../support/timeline'
import type { PlayedKey } from './player'
import { LEASE_MS, SETTLE_MS, type Stage } from './stage'

interface Entry {
  ref: string
  status: 'succeeded' | 'failed'
}

interface Row {
  key: string
  endpoint: string
  state: State
  status: number | null
  effectRef: string | null
  timeline: TimelineEvent[]
  /** At the provider, also what is on its way. */
  booked: Entry[]
  ledger: Entry[]
  orderStatus: string | null
}

const RECORDS = `
  SELECT r.key, r.endpoint, r.state, r.response_status AS status, r.effect_ref AS "effectRef", r.timeline,
    o.status AS "orderStatus",
    coalesce((SELECT json_agg(json_build_object('ref', c.ref, 'status', c.status)) FROM sandbox.charges c
      WHERE c.provider_key = 'onceover-' || r.id), '[]') AS booked,
    coalesce((SELECT json_agg(json_build_object('ref', l.provider_ref, 'status', l.status)) FROM ledger_entries l
      WHERE l.record_id = r.id), '[]') AS ledger
  FROM idempotency_records r LEFT JOIN orders o ON o.record_id = r.id WHERE r.key = ANY($1)`

interface Refunded extends Record<'amount' | 'refunded' | 'held' | 'given', number> {
  id: string
  /** Of its refunds. */
  keys: string[]
}

/** Refunds by what the provider booked and by what the order says; held is what is not known yet. */
const REFUNDED = `
  SELECT o.id, o.amount_cents::int AS amount, o.refunded_cents::int AS refunded, o.held_cents::int AS held,
    coalesce((SELECT sum(c.amount_cents) FROM sandbox.charges c
      WHERE c.order_id = o.id AND c.kind = 'refund' AND c.status = 'succeeded'), 0)::int AS given,
    ARRAY(SELECT rr.key FROM refunds f JOIN idempotency_records rr ON rr.id = f.record_id
      WHERE f.order_id = o.id) AS keys
  FROM orders o JOIN idempotency_records r ON r.id = o.record_id WHERE r.key = ANY($1)`

/** Each thing that is wrong, as a sentence. */
export async function audit(stage: Stage, keys: readonly PlayedKey[]): Promise<string[]> {
  const names = [...new Set(keys.map(({ key }) => key))]
  const rows = await stage.query<Row>(RECORDS, [names])
  const orders = await stage.query<Refunded>(REFUNDED, [names])
  const byWord = new Set(keys.filter((key) => key.byWord).map(({ key }) => key))
  const overdrawn = orders.filter(
    (o) => Math.max(o.given, o.refunded + o.held) > o.amount && !o.keys.some((key) => byWord.has(key)),
  )
  return [
    ...rows.flatMap((row) => {
      const key = keys.find(({ key, endpoint }) => key === row.key && endpoint === row.endpoint)!
      return wrongWith(row, key).map((sentence) => `${key.name} (${key.behaviour}): ${sentence}`)
    }),
    ...overdrawn.map((order) => `more was given back than was paid: ${JSON.stringify(order)}`),
  ]
}

const UNSETTLED = new Set<State>(['pending', 'in_progress', 'unknown'])

function wrongWith(row: Row, key: PlayedKey): string[] {
  const succeeded = row.booked.filter(({ status }) => status === 'succeeded')
  const wrong = illegalities(row.timeline, row.state, { leaseMs: LEASE_MS, settleMs: SETTLE_MS })
  if (succeeded.length > 1) wrong.push(`the provider executed it ${succeeded.length} times`)
  // Of a provider that can't be asked nothing is ever known: it stays unknown, or is tried again and again.
  if (key.behaviour !== 'unreachable' && UNSETTLED.has(row.state)) wrong.push(`it is still ${row.state}`)
  // Somebody's word stands where the provider could not be asked, right or wrong: that it moved money once still holds.
  return key.byWord ? wrong : [...wrong, ...disagreements(row, succeeded)]
}

function disagreements(row: Row, succeeded: readonly Entry[]): string[] {
  const { state, status, effectRef, ledger, orderStatus } = row
  const done = status !== null && status < 300
  const wrong: string[] = []
  if (state !== 'unknown' && done !== (succeeded.length === 1))
    wrong.push(`it is ${state} ${status ?? ''}, and the provider executed it ${succeeded.length} times`)
  const expected = effectRef === null ? [] : [effectRef]
  if (ledger.map(({ ref }) => ref).join() !== expected.join())
    wrong.push(`answered with ${effectRef}, and the ledger has ${JSON.stringify(ledger)}`)
  if (effectRef !== null && !row.booked.some(({ ref }) => ref === effectRef))
    wrong.push(`answered with ${effectRef}, which the provider does not have`)
  if (row.endpoint === ORDERS && orderStatus !== null && !STATUSES[orderOutcome(status, state)].includes(orderStatus))
    wrong.push(`it is ${state}, answered ${status}, and its order is ${orderStatus}`)
  return wrong
}

type OrderOutcome = 'paid' | 'declined' | 'abandoned' | 'open'
const STATUSES: Record<OrderOutcome, readonly string[]> = {
  paid: ['paid', 'partially_refunded', 'refunded'],
  declined: ['declined'],
  abandoned: ['abandoned'],
  open: ['pending_payment'],
}
function orderOutcome(status: number | null, state: State): OrderOutcome {
  if (status === 201) return 'paid'
  if (status === 402) return 'declined'
  // A key that expires without an answer was proven not executed, and its order ends with it.
  return status === 408 || state === 'expired' ? 'abandoned' : 'open'
}
