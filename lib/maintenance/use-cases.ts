// What people do to keep the store in order: runs of daemons, bulk runs, the end of one key. Each behind the check of
// its role.
import { appendAudit } from '../audit/append'
import type { Store, Tx } from '../db/store'
import type { Boundary } from '../idempotency/boundary'
import type { AnyOperation } from '../idempotency/operation'
import { refuse } from '../operators/refusal'
import type { Guard, UseCase } from '../operators/use-case'
import { createBulkRun, MAX_KEYS } from './bulk'
import type { BulkActionName } from './bulk-action'
import { DAEMONS, type DaemonKind } from './daemon'
import { type Erased, type Erasure, eraseCustomer } from './erase-customer'
import { expireKey } from './expire-key'
import { type KeyDecision, runKeyAgain } from './run-again'
import { listRunItems, listRuns, type RunCursor, type RunFilter, type RunItem } from './run-history'
import type { Runner } from './runner'
import { abortRun, failDeadRuns, findRun, type Run } from './runs'

interface NewRun {
  dryRun: boolean
  reason?: string
  /** How long who asks waits for its end; they can watch it from then on. */
  patienceMs?: number
}

/** All that match now, or those that are named. */
type NewBulk<Filter extends object> = { action: BulkActionName; reason: string } & (
  | { filter: Filter }
  | { ids: string[] }
)

/** `Shown` is a record as whoever asks is shown it; `Filter`, how they say which ones they mean. */
export interface MaintenanceUseCases<Shown extends object, Filter extends object> {
  expireKey: UseCase<KeyDecision, Shown>
  runKeyAgain: UseCase<KeyDecision, Shown>
  eraseCustomer: UseCase<Erasure, Erased>
  runDaemon: Record<DaemonKind, UseCase<NewRun, Run>>
  runBulk: UseCase<NewBulk<Filter>, Run>
  listRuns: UseCase<
    { filter: RunFilter; limit: number; after: RunCursor | null },
    { items: Run[]; next: RunCursor | null }
  >
  /** Of a bulk run, with a page of its keys. */
  showRun: UseCase<
    { id: string; limit: number; after: number },
    { run: Run; items: RunItem[] | null; next: number | null }
  >
  abortRun: UseCase<{ id: string; reason?: string }, Run>
}

export interface Maintenance<Shown extends object, Filter extends object> {
  store: Store
  observe?: Boundary['observe']
  operations: ReadonlyMap<string, AnyOperation>
  runner: Runner
  findRecord(id: string): Promise<Shown | null>
  selectKeyIds(filter: Filter, limit: number): Promise<string[]>
}

export function maintenanceUseCases<Shown extends object, Filter extends object>(
  maintenance: Maintenance<Shown, Filter>,
  guard: Guard,
): MaintenanceUseCases<Shown, Filter> {
  const { store, observe, operations, runner, findRecord, selectKeyIds } = maintenance

  const runDaemon = (kind: DaemonKind): UseCase<NewRun, Run> =>
    guard({ action: `${kind}.run`, role: 'operator' }, (call, { dryRun, reason = null, patienceMs }) => {
      const id = call.newId('run')
      const entry = { ...call, action: `${kind}.run`, target: id, reason, after: { dryRun } }
      const also = (tx: Tx) => appendAudit(tx, entry)
      const request = { id, dryRun, scheduled: false, requestedBy: call.actor.id, reason, also }
      return runner.run(kind, request, patienceMs)
    })

  return {
    eraseCustomer: guard({ action: 'customer.erase', role: 'admin', target: ({ id }) => id }, (call, asked) =>
      eraseCustomer({ store, observe, operations }, call, asked),
    ),
    expireKey: guard(
      { action: 'key.expire', role: 'operator', target: ({ id }) => id },
      async (call, asked) =>
        (await expireKey({ boundary: { store, observe }, operations }, call, asked)) ??
        (await findRecord(asked.id)) ??
        refuse('not_found'),
    ),
    runKeyAgain: guard(
      { action: 'key.run_again', role: 'operator', target: ({ id }) => id },
      async (call, asked) =>
        (await runKeyAgain(store, call, asked)) ?? (await findRecord(asked.id)) ?? refuse('not_found'),
    ),
    runDaemon: Object.fromEntries(DAEMONS.map((kind) => [kind, runDaemon(kind)])) as Record<
      DaemonKind,
      UseCase<NewRun, Run>
    >,
    runBulk: guard({ action: 'key.bulk', role: 'operator' }, async (call, asked) => {
      // One more than may be: then it is known that there are too many.
      const ids = 'ids' in asked ? asked.ids : await selectKeyIds(asked.filter, MAX_KEYS + 1)
      if (ids.length > MAX_KEYS) return refuse('too_many_keys')
      return runner.begin((worker) => createBulkRun(store, call, { ...asked, ids }, worker))
    }),
    listRuns: guard({ action: 'run.list', role: 'viewer' }, (_, { filter, ...page }) => listRuns(store, filter, page)),
    showRun: guard({ action: 'run.show', role: 'viewer', target: ({ id }) => id }, async (_, { id, ...page }) => {
      const run = await findRun(store, id)
      if (!run) return refuse('not_found')
      if (run.kind !== 'bulk') return { run, items: null, next: null }
      return { run, ...(await listRunItems(store, id, page)) }
    }),
    abortRun: guard({ action: 'run.abort', role: 'operator', target: ({ id }) => id }, async (call, { id, reason }) => {
      // One whose node died would never hear of it: it has ended.
      await failDeadRuns(store)
      if ((await findRun(store, id))?.kind === 'restore') return refuse('not_abortable')
      const before = { state: 'running' }
      const entry = { ...call, action: 'run.abort', target: id, reason, before, after: { abortRequested: true } }
      const aborted = await abortRun(store, id, (tx) => appendAudit(tx, entry))
      return aborted ?? refuse((await findRun(store, id)) ? 'already_ended' : 'not_found')
    }),
  }
}
