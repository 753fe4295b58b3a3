// The reconciler: due unknown outcomes, the longest overdue first, a few at a time so that a slow provider does not
// hold up the rest.

import { DUE, takeDue } from '../idempotency/store/reschedule'
import type { Counts, Daemon } from '../maintenance/daemon'
import { wouldTouch } from '../maintenance/dry-run'
import { RECONCILER, type Reconciled, type Reconciliation, reconcile } from './reconcile'
import { noteAnswer } from './resume'

/** Look-ups at the same time: each is one request to the provider. */
const BATCH = 20
/** What taking, asking and writing may add to the provider's own time limit before somebody else has a try. */
const SLACK_MS = 10_000

export interface ReconcilerOptions extends Reconciliation {
  lookUpLimitMs: number
}

export function reconciler(options: ReconcilerOptions): Daemon {
  const { store } = options.boundary
  return {
    kind: 'reconciler',
    async *batches({ dryRun }) {
      if (dryRun) {
        yield* wouldTouch(store, 'lookUps', DUE)
        return
      }
      for (;;) {
        const ids = await takeDue(store, { limit: BATCH, holdMs: options.lookUpLimitMs + SLACK_MS })
        const outcomes = await Promise.all(ids.map((id) => reconcile(options, id, RECONCILER)))
        const counts: Counts = {}
        outcomes.forEach((outcome) => {
          if (!outcome) return
          for (const name of namesOf(outcome)) counts[name] = (counts[name] ?? 0) + 1
        })
        const resumed = outcomes.some(isAnswer) ? await noteAnswer(store) : []
        if (resumed.length > 0) counts.resumed = resumed.length
        // An unfinished look-up is due again, goes on in this run and is counted when it ends.
        const ended = ids.filter((_, i) => outcomes[i]?.verdict !== 'unfinished')
        if (ids.length > 0) yield { counts, ids: ended }
        if (ids.length < BATCH && ended.length === ids.length) return
      }
    },
  }
}

/** The provider was reached and said something, whatever it was. */
const isAnswer = (outcome: Reconciled | null): boolean => outcome !== null && outcome.verdict !== 'unreachable'

function namesOf(outcome: Reconciled): string[] {
  const names = outcome.verdict === 'unfinished' ? ['unfinished'] : ['lookUps', outcome.verdict]
  if (outcome.settled) names.push('settled')
  if (outcome.deadLettered) names.push('deadLettered')
  return names
}
