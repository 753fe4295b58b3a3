// Evidence of an outcome, from a source that is not the record's owner (any more). It commits with its source's id, so it
// counts once; what contradicts a final record opens a discrepancy in the same transaction.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../../db/id'
import type { Store, Tx } from '../../db/store'
import type { Difference, Executed } from '../operation'
import type { State } from '../states'
import { appended, NOW, type TimelineEvent } from './event'
import { observeMove, type Through } from './transition'

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
  /** Whether the domain, which outlives the record, has this effect. Without it, it has none. */
  booked?: (tx: Tx) => Promise<boolean>
  /** Whether the domain has it with other money. */
  bookedOtherwise?: (tx: Tx) => Promise<boolean>
}

export interface RecordedEvidence {
  /** Before and after. */
  was: State
  state: State
  attempt: number
  endpoint: string
  tenantId: string
}

/**
 * The record as the evidence found it, or finds it again: the process that brought it first may not have lived to settle
 * with it. Null when the record is gone.
 */
export async function recordEvidence(
  { store, observe, step }: Pick<Through, 'store' | 'observe' | 'step'>,
  e: Evidence,
): Promise<RecordedEvidence | null> {
  const recorded = await store.transaction((tx) => recordIn(tx, e))
  if (recorded && recorded.was !== recorded.state) {
    const { was: from, state, endpoint, tenantId } = recorded
    observeMove(observe, { from, state, endpoint, tenantId, unknownSeconds: null })
  }
  await step?.('evidence_kept')
  return recorded
}

interface Touched {
  state: State
  responseStatus: number | null
  effectRef: string | null
}

/**
 * The row's lock comes first. A move that is under way is over by then: either it comes after us and sees the evidence in
 * the row, or we see what it made of the row. And a record that is being deleted is gone, instead of one that the evidence
 * refers to and the foreign key then misses.
 */
async function recordIn(tx: Tx, e: Evidence): Promise<RecordedEvidence | null> {
  const { kind, ref, shown } = e.executed
  const charged = kind === 'succeeded'
  const differs = e.differs ?? null
  // A decline of other money moved none; one of another request than the record's is no outcome of it either.
  const otherMoney = differs !== null && (charged || differs === 'restored_differs')
  const [subject] = await tx.query<Omit<RecordedEvidence, 'was'> & { id: string }>(sql`
    SELECT id, state, attempt, endpoint, tenant_id AS "tenantId" FROM idempotency_records WHERE id = ${e.recordId} FOR UPDATE`)
  const kept = await tx.query(sql`
    INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
    VALUES (${newId('evd')}, ${subject?.id ?? null}, ${e.source}, ${e.sourceId}, ${e.attempt ?? subject?.attempt ?? 0}::int, ${kind},
      ${JSON.stringify({ ref, shown, ...(differs ? { differs: true } : {}) })}::jsonb)
    ON CONFLICT (source, source_id) DO NOTHING
    RETURNING id`)
  const isNew = kept.length > 0
  const again = otherMoney && e.source !== 'webhook'
  const event: TimelineEvent = { event: 'evidence', by: e.source, source: e.source, verdict: kind }
  if (e.attempt !== null) event.attempt = e.attempt
  const [touched] =
    subject && (isNew || again)
      ? await tx.query<Touched>(sql`
          UPDATE idempotency_records r SET
            version = version + 1, timeline = ${appended(event)},
            ${otherMoney ? leftToPeople(differs) : ownMoney(charged && !differs)}
          FROM ${NOW}
          WHERE r.id = ${subject.id} AND (${isNew}::boolean OR ${AGAIN})
          RETURNING r.state, r.response_status AS "responseStatus", r.effect_ref AS "effectRef"`)
      : []
  if (isNew) {
    const state = touched?.state ?? null
    const { source, recordId } = e
    if (otherMoney || (charged && (await e.bookedOtherwise?.(tx)))) {
      const detail = { provider: { ref, ...shown }, source, state }
      await openDiscrepancy(tx, { kind: differs ?? 'amount_differs', subject: ref, recordId, detail })
    }
    if (await contradicts(tx, e, touched)) {
      const { responseStatus = null, effectRef = null } = touched ?? {}
      const detail = { verdict: kind, ref, source, state, responseStatus, effectRef }
      await openDiscrepancy(tx, { kind: 'contradicting_evidence', subject: `${recordId}:${ref}`, recordId, detail })
    }
  }
  if (!subject) return null
  const { id: _, ...was } = subject
  return { ...was, was: was.state, state: touched?.state ?? was.state }
}

/** A charge that the final answer does not tell of, or a decline of the very charge that it does tell of. */
async function contradicts(tx: Tx, e: Evidence, touched: Touched | undefined): Promise<boolean> {
  const { kind, ref } = e.executed
  const charged = kind === 'succeeded'
  if (!touched) return ((await e.booked?.(tx)) ?? false) !== charged
  if (touched.state !== 'completed' && touched.state !== 'expired') return false
  const status = touched.responseStatus ?? 0
  return (touched.effectRef === ref && status >= 200 && status <= 299) !== charged
}

async function openDiscrepancy(
  tx: Pick<Tx, 'query'>,
  d: { kind: string; subject: string; recordId: string; detail: object },
): Promise<void> {
  await tx.query(sql`
    INSERT INTO discrepancies (id, kind, subject, record_id, detail)
    VALUES (${newId('dis')}, ${d.kind}, ${d.subject}, ${d.recordId}, ${JSON.stringify(d.detail)}::jsonb)
    ON CONFLICT (kind, subject) DO NOTHING`)
}

/** Found again: since it was found the first time a person, who could not ask the provider, took it for not executed. */
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
  { recordId, source, executed: { kind: verdict, ref } }: Pick<Evidence, 'recordId' | 'source' | 'executed'>,
  refusal: unknown,
): Promise<void> {
  const { constraint = null } = refusal as { constraint?: string }
  const detail = { verdict, ref, source, constraint }
  await openDiscrepancy(store, { kind: 'unbookable_evidence', subject: `${recordId}:${ref}`, recordId, detail })
}

/** What justifies a move commits with it. */
export async function recordJustification(
  tx: Tx,
  recordId: string,
  j: {
    source: Extract<EvidenceSource, 'look_up' | 'operator'>
    attempt: number
    verdict: 'succeeded' | 'declined' | 'not_found' | 'not_executed'
    /** The provider's reference, where there is one, and how the source came to know. */
    detail: { ref: string | null; [more: string]: unknown }
  },
): Promise<void> {
  const id = newId('evd')
  await tx.query(sql`
    INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
    VALUES (${id}, ${recordId}, ${j.source}, ${id}, ${j.attempt}::int, ${j.verdict}, ${JSON.stringify(j.detail)}::jsonb)`)
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
