// Evidence: somebody learned of an outcome and is not the owner (any more). It commits with its source's id, so it
// counts once; what contradicts a final record opens a discrepancy in the same statement.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../../db/id'
import type { Store } from '../../db/store'
import type { Difference, Executed } from '../operation'
import type { State } from '../states'
import { appended, NOW, type TimelineEvent } from './event'

export type EvidenceSource = 'owner' | 'late_owner' | 'look_up' | 'webhook' | 'operator'

export interface Evidence {
  recordId: string
  source: EvidenceSource
  /** Unique for its source: an event's id, or the record and attempt of a late owner. */
  sourceId: string
  /** The attempt that it speaks of; null where the source can't tell. */
  attempt: number | null
  executed: Executed
  /** It is not the record's own effect: it is kept, and proves nothing. The record's code, and the discrepancy's kind. */
  differs?: Difference | null
  /** Whether the domain, which outlives the record, has this effect: a condition. Without it, it has none. */
  booked?: Sql
  /** Whether the domain has it with other money: a condition. */
  bookedOtherwise?: Sql
}

export interface KeptEvidence {
  /** Before and after. */
  was: State
  state: State
  attempt: number
  endpoint: string
  tenantId: string
}

/**
 * The record as the evidence found it, or finds it again: whoever brought it first may not have lived to settle with
 * it. Null when the record is gone.
 *
 * `subject` takes the row's lock before anything is written. Whoever is moving the record is through by then: either
 * it comes after us and sees the evidence in the row, or we see what it made of the row. And a record that is being
 * deleted is gone, instead of one that the evidence refers to and the foreign key then misses.
 */
export async function keepEvidence(store: Pick<Store, 'query'>, e: Evidence): Promise<KeptEvidence | null> {
  const { kind, ref, shown } = e.executed
  const charged = kind === 'succeeded'
  const differs = e.differs ?? null
  // A decline of other money moved none; one of another request than the record's is no outcome of it either.
  const otherMoney = differs !== null && (charged || differs === 'restored_differs')
  const event: TimelineEvent = { event: 'evidence', by: e.source, source: e.source, verdict: kind }
  if (e.attempt !== null) event.attempt = e.attempt
  const [row] = await store.query<KeptEvidence>(sql`
    WITH subject AS MATERIALIZED (
      SELECT id, state, attempt, endpoint, tenant_id FROM idempotency_records WHERE id = ${e.recordId} FOR UPDATE
    ), kept AS (
      INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
      SELECT ${newId('evd')}, (SELECT id FROM subject), ${e.source}, ${e.sourceId},
        coalesce(${e.attempt}::int, (SELECT attempt FROM subject), 0), ${kind},
        ${JSON.stringify({ ref, shown, ...(differs ? { differs: true } : {}) })}::jsonb
      ON CONFLICT (source, source_id) DO NOTHING
      RETURNING id
    ), touched AS (
      UPDATE idempotency_records r SET
        version = version + 1, timeline = ${appended(event)}, ${otherMoney ? leftToPeople(differs) : ownMoney(charged && !differs)}
      FROM subject, ${NOW}
      WHERE r.id = subject.id AND (EXISTS (SELECT FROM kept) OR ${otherMoney && e.source !== 'webhook' ? AGAIN : sql`false`})
      RETURNING r.*
    ), differing AS (
      INSERT INTO discrepancies (id, kind, subject, record_id, detail)
      SELECT ${newId('dis')}, ${differs ?? 'amount_differs'}, ${ref}, ${e.recordId},
        jsonb_build_object('provider', ${JSON.stringify({ ref, ...shown })}::jsonb, 'source', ${e.source}::text,
          'state', t.state)
      FROM kept LEFT JOIN touched t ON true
      WHERE ${otherMoney}::boolean OR ${charged}::boolean AND (${e.bookedOtherwise ?? sql`false`})
      ON CONFLICT (kind, subject) DO NOTHING
    ), contradicted AS (
      -- a charge that the final answer does not tell of, or a decline of the very charge that it does tell of
      INSERT INTO discrepancies (id, kind, subject, record_id, detail)
      SELECT ${newId('dis')}, 'contradicting_evidence', ${`${e.recordId}:${ref}`}, ${e.recordId},
        jsonb_build_object('verdict', ${kind}::text, 'ref', ${ref}::text, 'source', ${e.source}::text, 'state', t.state,
          'responseStatus', t.response_status, 'effectRef', t.effect_ref)
      FROM kept LEFT JOIN touched t ON true
      WHERE CASE
        WHEN t.id IS NULL THEN (${e.booked ?? sql`false`}) <> ${charged}::boolean
        WHEN t.state IN ('completed', 'expired')
          THEN coalesce(t.effect_ref = ${ref} AND t.response_status BETWEEN 200 AND 299, false) <> ${charged}::boolean
      END
      ON CONFLICT (kind, subject) DO NOTHING
    )
    SELECT s.state AS was, coalesce(t.state, s.state) AS state, s.attempt, s.endpoint, s.tenant_id AS "tenantId"
    FROM subject s LEFT JOIN touched t ON true`)
  return row ?? null
}

/** Found anew by whoever asked: a person who could not ask took it for not executed since it was found the first time. */
const AGAIN: Sql = sql`(NOT r.money_differs AND r.state IN ('in_progress', 'unknown', 'failed_retryable'))`

/** Evidence of the record's own money; none while there is evidence of other money, which outranks it. */
const ownMoney = (charged: boolean): Sql =>
  sql`effect_evidence = effect_evidence OR (${charged}::boolean AND NOT money_differs)`

/** Who owns it ends his attempt first. Without an owner it is a person's from now on, also if it was taken for not executed. */
const leftToPeople = (code: Difference): Sql => sql`
  effect_evidence = effect_evidence AND r.state NOT IN ('in_progress', 'unknown', 'failed_retryable'),
  money_differs = r.state IN ('in_progress', 'unknown', 'failed_retryable'),
  state = CASE WHEN r.state = 'failed_retryable' THEN 'unknown' ELSE r.state END,
  in_doubt = in_doubt OR r.state IN ('unknown', 'failed_retryable'),
  doubt_until = CASE WHEN r.state IN ('unknown', 'failed_retryable') THEN settles_at ELSE doubt_until END,
  reconcile_after = CASE WHEN r.state NOT IN ('unknown', 'failed_retryable') THEN reconcile_after END,
  dead_lettered_at = CASE WHEN r.state IN ('unknown', 'failed_retryable') THEN now.at ELSE dead_lettered_at END,
  last_error_code = CASE WHEN r.state IN ('in_progress', 'unknown', 'failed_retryable') THEN ${code} ELSE last_error_code END`

/** The evidence is kept, and the domain's own rules refuse what it means. */
export async function openUnbookable(
  store: Pick<Store, 'query'>,
  e: Pick<Evidence, 'recordId' | 'source' | 'executed'>,
  refusal: unknown,
): Promise<void> {
  const { kind: verdict, ref } = e.executed
  const { constraint = null } = refusal as { constraint?: string }
  await store.query(sql`
    INSERT INTO discrepancies (id, kind, subject, record_id, detail)
    VALUES (${newId('dis')}, 'unbookable_evidence', ${`${e.recordId}:${ref}`}, ${e.recordId},
      ${JSON.stringify({ verdict, ref, source: e.source, constraint })}::jsonb)
    ON CONFLICT (kind, subject) DO NOTHING`)
}

/** Evidence of other money than the record's. */
const DIFFERS: Sql = sql`coalesce((detail->>'differs')::boolean, false)`

export interface StoredEvidence {
  /** The effect that the record is settled with, whatever its state; none while there is evidence of other money. */
  effect: Executed | null
  /** The reference of what was executed with the record's own money. */
  ownRef: string | null
  moneyDiffers: boolean
}

export async function storedEvidence(store: Pick<Store, 'query'>, recordId: string): Promise<StoredEvidence> {
  const [row] = await store.query<{ ref: string | null; money_differs: boolean }>(sql`
    SELECT r.money_differs, (
      SELECT detail->>'ref' FROM evidence
      WHERE record_id = r.id AND verdict = 'succeeded' AND NOT ${DIFFERS}
      ORDER BY created_at, id LIMIT 1) AS ref
    FROM idempotency_records r WHERE r.id = ${recordId}`)
  const moneyDiffers = row?.money_differs ?? false
  const ownRef = row?.ref ?? null
  return { moneyDiffers, ownRef, effect: ownRef && !moneyDiffers ? { kind: 'succeeded', ref: ownRef } : null }
}

export interface Proof {
  executed: Executed
  source: EvidenceSource
  /** The record as it was when this was proof: whoever settles with it is guarded by both. */
  state: Extract<State, 'unknown' | 'failed_retryable'>
  attempt: number
}

/**
 * What stored evidence proves about a record that nobody owns: the one rule for what evidence may move. A charge
 * settles an unknown outcome and takes back "proven not executed". A decline settles an unknown outcome only if no
 * other attempt can still be charged: there was no other, or it speaks of the last one and was learned after the
 * window of them all. A webhook does not say which attempt it speaks of; a look-up then has to. Evidence of other money
 * proves nothing, and while there is any nothing else does.
 */
export async function proofOf(store: Pick<Store, 'query'>, recordId: string): Promise<Proof | null> {
  const [row] = await store.query<{ verdict: Executed['kind']; ref: string } & Omit<Proof, 'executed'>>(sql`
    SELECT e.verdict, e.detail->>'ref' AS ref, e.source, r.state, r.attempt
    FROM idempotency_records r JOIN evidence e ON e.record_id = r.id
    WHERE r.id = ${recordId} AND NOT r.money_differs AND NOT ${DIFFERS} AND (
      (e.verdict = 'succeeded' AND r.state IN ('unknown', 'failed_retryable'))
      OR (e.verdict = 'declined' AND r.state = 'unknown'
        AND (r.attempt = 1
          OR (e.source <> 'webhook' AND e.attempt = r.attempt AND e.created_at >= r.settles_at))))
    ORDER BY e.verdict = 'succeeded' DESC, e.created_at, e.id LIMIT 1`)
  if (!row) return null
  const { verdict: kind, ref, ...found } = row
  return { executed: { kind, ref }, ...found }
}
