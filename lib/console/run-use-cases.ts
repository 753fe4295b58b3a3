// What everybody sees of maintenance: how the daemons stand, what ran, and what became of its keys.
import type { Store } from '../db/store'
import type { DaemonKind } from '../maintenance/daemon'
import type { RunCursor } from '../maintenance/run-history'
import { listRunKeys, type RunKey, type RunKeysPage } from '../maintenance/run-keys'
import { findRunView, listRunViews, type RunView, type RunViewFilter } from '../maintenance/run-view'
import { type DaemonStatus, daemonStatuses } from '../maintenance/status'
import { refuse } from '../operators/refusal'
import type { Guard, UseCase } from '../operators/use-case'

export interface RunUseCases {
  seeDaemons: UseCase<undefined, { daemons: DaemonStatus[]; tombstoneHours: number }>
  seeRuns: UseCase<
    { filter: RunViewFilter; limit: number; after: RunCursor | null },
    { items: RunView[]; next: RunCursor | null }
  >
  seeRun: UseCase<{ id: string }, RunView>
  seeRunKeys: UseCase<RunKeysPage, { items: RunKey[]; next: number | null }>
}

export interface RunParts {
  store: Store
  /** By daemon; 0 switches it off. */
  intervals: ReadonlyMap<DaemonKind, number>
  tombstoneHours: number
}

export function runUseCases({ store, intervals, tombstoneHours }: RunParts, guard: Guard): RunUseCases {
  return {
    seeDaemons: guard({ action: 'maintenance.see', role: 'viewer' }, async () => ({
      daemons: await daemonStatuses(store, intervals),
      tombstoneHours,
    })),
    seeRuns: guard({ action: 'run.list', role: 'viewer' }, (_, { filter, ...page }) =>
      listRunViews(store, filter, page),
    ),
    seeRun: guard(
      { action: 'run.show', role: 'viewer', target: ({ id }) => id },
      async (_, { id }) => (await findRunView(store, id)) ?? refuse('not_found'),
    ),
    seeRunKeys: guard({ action: 'run.show', role: 'viewer', target: ({ runId }) => runId }, (_, page) =>
      listRunKeys(store, page),
    ),
  }
}
