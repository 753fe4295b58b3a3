// What the sweeper, the reaper, the reconciler and the ledger comparison have in common: each works in batches and
// says after every batch what it did. Whoever drives it decides whether there is a next one, so each can be stopped,
// watched, tested without time, and run by a schedule or a person.
import type { State } from '../idempotency/states'

export const DAEMONS = ['sweeper', 'reaper', 'reconciler', 'ledger'] as const
export type DaemonKind = (typeof DAEMONS)[number]

export type Counts = Record<string, number>

/** In a dry run: what would happen to how many by one rule, and whose they mostly are. */
export interface Group {
  rule: string
  /** Null where there were too many to look at each. */
  from: State | null
  /** Where they would be moved; null where they would stay. */
  to: State | 'deleted' | null
  count: number
  tenants: { id: string; count: number }[]
}

export interface Batch {
  /** What was done (in a dry run: what would be), by name. */
  counts: Counts
  /** The records that it was done to, or a sample of them. */
  ids: readonly string[]
  /** How many they are, where `ids` is a sample. */
  size?: number
  /** How many there are in all, where that is known. */
  total?: number
  groups?: readonly Group[]
}

export interface Daemon<Kind = DaemonKind> {
  kind: Kind
  /** A dry run finds with the very predicate of the run, and changes nothing. */
  batches(options: { dryRun: boolean }): AsyncIterable<Batch>
}

export interface Progress {
  done: number
  total: number | null
  counts: Counts
  sample: string[]
  groups: Group[]
}

const SAMPLE_SIZE = 100

/** All of it, with nobody watching. */
export async function runOnce(daemon: Daemon, options: { dryRun?: boolean } = {}): Promise<Counts> {
  let counts: Counts = {}
  for await (const progress of progressOf(daemon, { dryRun: options.dryRun ?? false })) counts = progress.counts
  return counts
}

/** The sum after each batch. */
export async function* progressOf(daemon: Daemon<unknown>, options: { dryRun: boolean }): AsyncIterable<Progress> {
  const progress: Progress = { done: 0, total: null, counts: {}, sample: [], groups: [] }
  for await (const batch of daemon.batches(options)) {
    for (const [name, count] of Object.entries(batch.counts))
      progress.counts[name] = (progress.counts[name] ?? 0) + count
    progress.done += batch.size ?? batch.ids.length
    progress.total = batch.total ?? progress.total
    progress.sample = [...progress.sample, ...batch.ids].slice(0, SAMPLE_SIZE)
    progress.groups = [...progress.groups, ...(batch.groups ?? [])]
    yield { ...progress, counts: { ...progress.counts } }
  }
}
