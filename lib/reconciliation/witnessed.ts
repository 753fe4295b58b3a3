// What justifies a move commits with it: a part of the move's own statement, which reads the moved row from `moved`.
import sql, { type Sql } from 'sql-template-tag'
import { newId } from '../db/id'
import type { EvidenceSource } from '../idempotency/sql/evidence'

export interface Witness {
  source: Extract<EvidenceSource, 'look_up' | 'operator'>
  attempt: number
  verdict: 'succeeded' | 'declined' | 'not_found' | 'not_executed'
  /** The provider's reference, where there is one, and how whoever it was came to know. */
  detail: { ref: string | null; [more: string]: unknown }
}

export function witnessed({ source, attempt, verdict, detail }: Witness): Sql {
  const id = newId('evd')
  return sql`witnessed AS (
    INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
    SELECT ${id}, m.id, ${source}, ${id}, ${attempt}::int, ${verdict}, ${JSON.stringify(detail)}::jsonb FROM moved m
  )`
}
