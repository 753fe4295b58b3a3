// Runs: of the daemons, by hand, and of one action on many keys. Their history, their progress, and how to stop one.
import { z } from 'zod'
import { KeyFilter } from '../../console/keys-filter'
import { BULK_ACTIONS } from '../../maintenance/bulk-action'
import type { DaemonKind } from '../../maintenance/daemon'
import { RUN_KINDS, RUN_STATES } from '../../maintenance/runs'
import { encodeCursor } from '../cursor'
import { operatorCall } from '../operator-call'
import { isStorable } from '../validate'
import { MaybeReasoned, reasonOf } from './key-actions'
import { cursorOf } from './paging'

const RUN = /^run_[0-9a-z]{26}$/

const members = {
  id: z.string(),
  kind: z.enum(RUN_KINDS),
  action: z.enum(BULK_ACTIONS).nullable().meta({ description: 'Of a bulk run: what it does to each key' }),
  dryRun: z.boolean(),
  state: z.enum(RUN_STATES),
  done: z.int().meta({ description: 'Records so far' }),
  total: z.int().nullable().meta({ description: 'Of so many, once that is known' }),
  counts: z.record(z.string(), z.int()).meta({ description: 'What was done, by name; in a dry run, what would be' }),
  sample: z.array(z.string()).max(100).meta({ description: 'Ids of some of the records' }),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
  requestedBy: z.string().meta({ description: 'An operator, a token, or the node whose schedule it was' }),
  scheduled: z.boolean(),
  reason: z.string().nullable(),
  error: z.string().nullable().meta({ description: 'Why it failed' }),
}
export const Run = z.object(members).meta({ id: 'Run', description: 'Work on many records' })

const RunRequest = z
  .strictObject({
    dryRun: z.boolean().default(false).meta({ description: 'Find what there is to do, and change nothing' }),
    reason: reasonOf(1).optional(),
  })
  .meta({ id: 'RunRequest', description: 'A run by hand' })

const RunItem = z
  .object({
    position: z.int(),
    recordId: z.string(),
    outcome: z
      .union([
        z.object({ verdict: z.string(), state: z.string(), settled: z.boolean() }),
        z.object({ error: z.string().meta({ description: 'A code, such as `not_found` or `nothing_to_ask`' }) }),
      ])
      .nullable()
      .meta({ description: 'null while it is not done' }),
    doneAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'RunItem', description: 'What became of one key in a run' })

export const run: z.infer<typeof Run> = {
  id: 'run_01jcq3a1b4d7f0h3k6n9q2s5v8',
  kind: 'sweeper',
  action: null,
  dryRun: false,
  state: 'succeeded',
  done: 2,
  total: 2,
  counts: { leasesOver: 2, unknown: 2, failedRetryable: 0 },
  sample: ['idem_01jcq2h8j1s7u2w5y8a1c4e7g0', 'idem_01jcq2k4n7q0t3v6x9z2b5d8f1'],
  startedAt: '2025-11-16T14:22:10.300Z',
  finishedAt: '2025-11-16T14:22:10.341Z',
  requestedBy: 'opr_01jcq1w4z7b0d3f6h9k2n5q8s1',
  scheduled: false,
  reason: 'after the outage',
  error: null,
}
const bulkRun: z.infer<typeof Run> = {
  ...run,
  kind: 'bulk',
  action: 'reconcile',
  state: 'running',
  done: 1,
  counts: { lookUps: 1, succeeded: 1, settled: 1 },
  finishedAt: null,
}

const tag = 'Operators: runs'

const WORDS: Record<DaemonKind, { summary: string; description: string }> = {
  sweeper: {
    summary: 'Run the sweeper',
    description: 'Moves leases that ran out, and gives accepted requests that nobody works on to somebody.',
  },
  reaper: {
    summary: 'Run the reaper',
    description: 'Turns keys past their retention into tombstones, and deletes tombstones past theirs.',
  },
  reconciler: { summary: 'Run the reconciler', description: 'Asks the provider about unknown outcomes that are due.' },
  ledger: {
    summary: 'Compare the ledger',
    description: 'Compares our ledger with the provider’s own list, and files what differs.',
  },
}

const runDaemon = (kind: DaemonKind) =>
  operatorCall({
    tag,
    method: 'POST',
    path: `/api/admin/${kind}/runs`,
    operationId: `run${kind[0]!.toUpperCase()}${kind.slice(1)}`,
    summary: WORDS[kind].summary,
    description:
      `${WORDS[kind].description} A dry run finds with the very predicate of the run, and changes nothing. Answers ` +
      'when the run has ended, or after ten seconds while it goes on.',
    role: 'operator',
    body: RunRequest,
    bodyExample: { dryRun: false, reason: 'after the outage' },
    answer: { status: 201, description: 'The run.', schema: Run, example: run },
    does: (services) => services.runDaemon[kind],
    input: ({ body }) => body,
  })

export const runSweeper = runDaemon('sweeper')
export const runReaper = runDaemon('reaper')
export const runReconciler = runDaemon('reconciler')
export const runLedger = runDaemon('ledger')

export const runBulk = operatorCall({
  tag,
  method: 'POST',
  path: '/api/admin/keys/bulk',
  operationId: 'runBulk',
  summary: 'Do one thing to many keys',
  description:
    'Does to each key what the call of the same name does to one: `reconcile`, `expire`, `run-again`, `resume`. The ' +
    'keys are those that match the filter now, or those that are named, at most 10 000. Each is decided about as it ' +
    'is when its turn comes; what becomes of it is in the run.',
  role: 'operator',
  body: z
    .strictObject({
      action: z.enum(BULK_ACTIONS),
      filter: KeyFilter.optional(),
      ids: z
        .array(z.string().min(1).max(64).refine(isStorable, 'has a NUL or a lone surrogate'))
        .min(1)
        .optional()
        .meta({ description: 'Ids of records' }),
      reason: reasonOf(1),
    })
    .refine(({ filter, ids }) => (filter === undefined) !== (ids === undefined), {
      path: ['filter'],
      message: 'exactly one of filter and ids',
    }),
  bodyExample: { action: 'reconcile', filter: { state: ['unknown'] }, reason: 'the provider is back' },
  answer: { status: 201, description: 'The run, which has just begun.', schema: Run, example: bulkRun },
  problems: ['too_many_keys'],
  does: (services) => services.runBulk,
  input: ({ body: { action, filter, ids, reason } }) =>
    ids ? { action, ids, reason } : { action, filter: filter!, reason },
})

const Cursor = z.object({
  startedAt: z.iso.datetime().refine((at) => !at.startsWith('0000')),
  id: z.string().max(64).refine(isStorable),
})

export const listRuns = operatorCall({
  tag,
  method: 'GET',
  path: '/api/admin/runs',
  operationId: 'listRuns',
  summary: 'List runs',
  description: 'Newest first. Scheduled runs that found nothing to do are forgotten after an hour.',
  role: 'viewer',
  query: z.strictObject({
    kind: z.enum(RUN_KINDS).optional().meta({ description: 'Runs of one kind' }),
    state: z.enum(RUN_STATES).optional().meta({ description: 'Runs in one state' }),
    dryRun: z
      .enum(['true', 'false'])
      .optional()
      .transform((word) => (word === undefined ? undefined : word === 'true'))
      .meta({ description: 'Dry runs, or the others', override: { type: 'boolean', enum: undefined } }),
    limit: z.coerce.number().int().min(1).max(200).default(50).meta({ description: 'How many at most' }),
    cursor: cursorOf(Cursor),
  }),
  answer: {
    status: 200,
    description: 'A page of runs.',
    schema: z.object({ items: z.array(Run), nextCursor: z.string().nullable() }),
    example: { items: [bulkRun], nextCursor: null },
  },
  does: (services) => services.listRuns,
  input: ({ query: { limit, cursor, ...filter } }) => ({ filter, limit, after: cursor ?? null }),
  present: ({ items, next }) => ({ items, nextCursor: next && encodeCursor(next) }),
})

export const showRun = operatorCall({
  tag,
  method: 'GET',
  path: '/api/admin/runs/{id}',
  operationId: 'getRun',
  summary: 'Get a run',
  description: 'How far it is, and for a bulk run a page of its keys with what became of each.',
  params: { id: RUN },
  role: 'viewer',
  query: z.strictObject({
    limit: z.coerce.number().int().min(1).max(200).default(50).meta({ description: 'How many at most' }),
    itemsCursor: cursorOf(z.int().min(0).max(1_000_000), 'nextItemsCursor'),
  }),
  answer: {
    status: 200,
    description: 'The run.',
    schema: z
      .object({
        ...members,
        items: z.array(RunItem).optional().meta({ description: 'Of a bulk run: its keys' }),
        nextItemsCursor: z.string().nullable().optional(),
      })
      .meta({ id: 'RunWithItems', description: 'A run with a page of its keys' }),
    example: {
      ...bulkRun,
      items: [
        {
          position: 1,
          recordId: bulkRun.sample[0],
          outcome: { verdict: 'succeeded', state: 'completed', settled: true },
          doneAt: '2025-11-16T14:22:10.338Z',
        },
        { position: 2, recordId: bulkRun.sample[1], outcome: null, doneAt: null },
      ],
      nextItemsCursor: null,
    },
  },
  does: (services) => services.showRun,
  input: ({ params, query }) => ({ id: params.id!, limit: query.limit, after: query.itemsCursor ?? 0 }),
  present: ({ run, items, next }) =>
    items ? { ...run, items, nextItemsCursor: next === null ? null : encodeCursor(next) } : run,
})

export const abortRun = operatorCall({
  tag,
  method: 'POST',
  path: '/api/admin/runs/{id}/abort',
  operationId: 'abortRun',
  summary: 'Stop a run',
  description:
    'It ends after the batch that it is in. What it has done stays done. A run of kind `restore` can’t be stopped.',
  params: { id: RUN },
  role: 'operator',
  body: MaybeReasoned,
  bodyExample: { reason: 'the wrong filter' },
  answer: { status: 200, description: 'The run, which is about to end.', schema: Run, example: bulkRun },
  problems: ['already_ended', 'not_abortable'],
  does: (services) => services.abortRun,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})
