// A person ends a key before its time: it becomes a tombstone as the reaper would make it, and its client gets 410 from
// the next request on. Only if it is still as the person saw it.
import sql from 'sql-template-tag'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import type { Boundary } from '../idempotency/boundary'
import type { AnyOperation } from '../idempotency/operation'
import { EXPIRABLE, expire } from '../idempotency/sql/expire'
import { atVersion, currentOf } from '../idempotency/sql/version'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import type { KeyDecision } from './run-again'

export interface Expiring {
  boundary: { store: Pick<Store, 'query'> } & Pick<Boundary, 'observe'>
  operations: ReadonlyMap<string, AnyOperation>
}

/** Null when it is done. */
export async function expireKey(
  { boundary: { store, observe }, operations }: Expiring,
  call: Call,
  { id, reason, version }: KeyDecision,
): Promise<Refused | null> {
  const before = await currentOf(store, id)
  if (!before) return refuse('not_found')
  if (before.version === version) {
    const due = sql`SELECT r.id, r.state FROM idempotency_records r
      WHERE r.id = ${id} AND r.state = ${before.state}::record_state ${atVersion(version)} AND ${EXPIRABLE} FOR UPDATE`
    const after = sql`jsonb_build_object('state', m.state, 'version', m.version)`
    const entry = audited({ ...call, action: 'key.expire', target: id, reason, before }, sql`moved m`, after)
    const [expired] = await expire(store, { due, by: `operator:${call.actor.id}`, operations, effects: [entry] })
    if (expired) {
      const { from, endpoint, tenantId } = expired
      observe?.({ kind: 'moved', from, to: 'expired', endpoint, tenantId })
      return null
    }
  }
  const current = await currentOf(store, id)
  if (!current) return refuse('not_found')
  return current.version === version ? refuse('not_expirable') : refuse('changed_since_loaded', { current })
}
