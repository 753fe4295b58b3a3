// Reading what a client sent, in full: somebody with a reason does, and the log says who. The entry commits with the
// very statement that reads, so nobody reads without one.
import sql from 'sql-template-tag'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import type { Input } from '../idempotency/operation'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'

export async function unmaskKey(
  store: Pick<Store, 'query'>,
  { actor, requestId }: Call,
  { id, reason }: { id: string; reason: string },
): Promise<{ request: Input } | Refused> {
  const entry = { actor, requestId, action: 'key.unmask', target: id, reason }
  const [row] = await store.query<{ request: string | null }>(sql`
    WITH r AS MATERIALIZED (SELECT request, state, version FROM idempotency_records WHERE id = ${id}),
    readable AS (SELECT * FROM r WHERE request IS NOT NULL),
    ${audited(entry, sql`readable`, sql`jsonb_build_object('state', readable.state, 'version', readable.version)`)}
    SELECT request FROM r`)
  if (!row) return refuse('not_found')
  if (row.request === null) return refuse('not_found', { detail: 'The request of this key has been erased.' })
  return { request: JSON.parse(row.request) }
}
