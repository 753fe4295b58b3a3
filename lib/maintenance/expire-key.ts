// A person ends a key before its time: it becomes a tombstone as the reaper would make it, and its client gets 410 from
// the next request on. Only if it is still as the person saw it.
import sql from 'sql-template-tag'
import { auditMove } from '../audit/append'
import type { Operations } from '../idempotency/operation'
import { EXPIRABLE, expire } from '../idempotency/store/expire'
import type { Through } from '../idempotency/store/transition'
import { atVersion, currentOf } from '../idempotency/store/version'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import type { KeyDecision } from './run-again'

export interface Expiring {
  boundary: Pick<Through, 'store' | 'observe'>
  operations: Operations
}

/** Null when it is done. */
export async function expireKey(
  { boundary, operations }: Expiring,
  call: Call,
  { id, reason, version }: KeyDecision,
): Promise<Refused | null> {
  const { store } = boundary
  const before = await currentOf(store, id)
  if (!before) return refuse('not_found')
  if (before.version === version) {
    const due = sql`SELECT r.id, r.state FROM idempotency_records r
      WHERE r.id = ${id} AND r.state = ${before.state}::record_state ${atVersion(version)} AND ${EXPIRABLE} FOR UPDATE`
    const audit = auditMove({ ...call, action: 'key.expire', target: id, reason, before })
    const expired = await expire(boundary, {
      due,
      by: `operator:${call.actor.id}`,
      operations,
      also: (tx, [moved]) => audit(tx, moved!),
    })
    if (expired.length > 0) return null
  }
  const current = await currentOf(store, id)
  if (!current) return refuse('not_found')
  return current.version === version ? refuse('not_expirable') : refuse('changed_since_loaded', { current })
}
