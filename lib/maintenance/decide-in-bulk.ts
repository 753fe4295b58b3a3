// A person's decision about one key, as an action of a bulk run: about the key as it is when its turn comes, and in the
// log under who asked for the run. A key whose outcome was lost with a killed worker is not decided about twice.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { currentOf } from '../idempotency/store/version'
import { type Call, callOf } from '../operators/actor'
import type { Refused } from '../operators/refusal'
import type { BulkAction } from './bulk'
import type { KeyDecision } from './run-again'

export const decideInBulk =
  (
    store: Pick<Store, 'query'>,
    /** Its entry in the audit log commits with the decision. */
    { action, verdict }: { action: string; verdict: string },
    decide: (call: Call, decision: KeyDecision) => Promise<Refused | null>,
  ): BulkAction =>
  async ({ id: requestId, reason, actor }, recordId) => {
    const current = await currentOf(store, recordId)
    if (!current) return { error: 'not_found' }
    const [done] = await store.query(sql`
      SELECT FROM audit_entries
      WHERE target = ${recordId} AND action = ${action} AND request_id = ${requestId} AND outcome = 'done' LIMIT 1`)
    if (done) return { verdict, state: current.state, settled: false }
    const call = callOf({ ...actor, role: 'operator' }, requestId)
    const refused = await decide(call, { id: recordId, reason: reason ?? '', version: current.version })
    if (refused) return { error: refused.refused }
    const { state } = (await currentOf(store, recordId)) ?? current
    return { verdict, state, settled: false }
  }
