// What a bulk run does to one of its keys, by the name of its action.
import type { BulkActions } from '../maintenance/bulk'
import { decideInBulk } from '../maintenance/decide-in-bulk'
import { expireKey } from '../maintenance/expire-key'
import { runKeyAgain } from '../maintenance/run-again'
import type { Reconciliation } from './reconcile'
import { reconcileInBulk } from './reconcile-key'
import { resumeKey } from './resume'

export function bulkActions(reconciliation: Reconciliation): BulkActions {
  const { store } = reconciliation.boundary
  return {
    reconcile: reconcileInBulk(reconciliation),
    expire: decideInBulk(store, { action: 'key.expire', verdict: 'expired' }, (call, decision) =>
      expireKey(reconciliation, call, decision),
    ),
    'run-again': decideInBulk(store, { action: 'key.run_again', verdict: 'runAgain' }, (call, decision) =>
      runKeyAgain(store, call, decision),
    ),
    resume: decideInBulk(store, { action: 'key.resume', verdict: 'resumed' }, (call, decision) =>
      resumeKey(store, call, decision),
    ),
  }
}
