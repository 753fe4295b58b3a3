// Evidence: somebody learned of an outcome and is not the owner (any more). It commits with its source's id, so it
// counts once; what contradicts a final record opens a discrepancy in the same statement.
import sql from 'sql-template-tag'
import { newId } from '../../db/id'
import type { Store } from '../../db/store'
import type { Executed } from '../operation'
import type { State } from '../states'
import { appended, NOW } from './event'

export interface Evidence {
  recordId: string
  source: 'late_owner' | 'look_up' | 'webhook' | 'operator'
  /** Unique for its source: an event's id, or the record and attempt of a late owner. */
  sourceId: string
  /** The attempt that it speaks of. */
  attempt: number
  executed: Executed
}

export interface KeptEvidence {
  state: State
  attempt: number
}

/** The record as the evidence found it; null when the same evidence was kept before, or the record is gone. */
export async function keepEvidence(store: Pick<Store, 'query'>, e: Evidence): Promise<KeptEvidence | null> {
  const { kind, ref } = e.executed
  const event = appended({ event: 'evidence', by: e.source, source: e.source, verdict: kind, attempt: e.attempt })
  const [row] = await store.query<KeptEvidence>(sql`
    WITH kept AS (
      INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
      SELECT ${newId('evd')}, (SELECT id FROM idempotency_records WHERE id = ${e.recordId}), ${e.source}, ${e.sourceId},
        ${e.attempt}::int, ${kind}, ${JSON.stringify({ ref })}::jsonb
      ON CONFLICT (source, source_id) DO NOTHING
      RETURNING id
    ), touched AS (
      UPDATE idempotency_records r SET
        version = version + 1, effect_evidence = effect_evidence OR ${kind} = 'succeeded', timeline = ${event}
      FROM ${NOW}
      WHERE r.id = ${e.recordId} AND EXISTS (SELECT 1 FROM kept)
      RETURNING r.*
    ), contradicted AS (
      -- a final record that says otherwise: a decline answered for a charge, or a second charge beside the first
      INSERT INTO discrepancies (id, kind, subject, record_id, detail)
      SELECT ${newId('dis')}, 'contradicting_evidence', ${`${e.recordId}:${ref}`}, ${e.recordId},
        jsonb_build_object('verdict', ${kind}::text, 'ref', ${ref}::text, 'source', ${e.source}::text, 'state', t.state,
          'responseStatus', t.response_status, 'effectRef', t.effect_ref)
      FROM kept LEFT JOIN touched t ON true
      WHERE t.id IS NULL OR (t.state IN ('completed', 'expired') AND t.effect_ref IS DISTINCT FROM ${ref}
        AND (${kind} = 'succeeded' OR t.response_status BETWEEN 200 AND 299))
      ON CONFLICT (kind, subject) DO NOTHING
    )
    SELECT state, attempt FROM touched`)
  return row ?? null
}

/** The evidence of an effect that is stored for a record: what it is settled with. */
export async function effectEvidence(store: Pick<Store, 'query'>, recordId: string): Promise<Executed | null> {
  const [row] = await store.query<{ ref: string }>(sql`
    SELECT detail->>'ref' AS ref FROM evidence
    WHERE record_id = ${recordId} AND verdict = 'succeeded' ORDER BY created_at, id LIMIT 1`)
  return row ? { kind: 'succeeded', ref: row.ref } : null
}
