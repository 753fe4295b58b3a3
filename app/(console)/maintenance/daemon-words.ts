// What maintenance is called and does, in words. Typed by the lists that they speak of, so a new daemon breaks the build
// and not an operator.
import type { BulkActionName } from '../../../lib/maintenance/bulk-action'
import type { Run, RunKind } from '../../../lib/maintenance/runs'
import { count, plural } from '../../_ui/words'

interface DaemonWords {
  name: string
  /** In a sentence: the reaper. */
  the: string
  does(tombstoneHours: number): string
  /** Under its chart. */
  charted: string
  /** What it does its work on. */
  many(n: number): string
  /** What a run would do, by the count of a dry run. */
  would(n: number): string
}

const keys = (n: number) => plural(n, 'key')

export const DAEMON_WORDS: Record<RunKind, DaemonWords> = {
  sweeper: {
    name: 'Sweeper',
    the: 'the sweeper',
    does: () => 'Takes keys whose lease is over. Before the charge: released. After it: unknown.',
    charted: 'keys a run',
    many: keys,
    would: (n) => `${keys(n)} will be moved on.`,
  },
  reaper: {
    name: 'Reaper',
    the: 'the reaper',
    does: (hours) => `Expires keys past their retention, and deletes tombstones after ${count(hours)} h.`,
    charted: 'keys a run',
    many: keys,
    would: (n) => `${keys(n)} will be expired or deleted.`,
  },
  reconciler: {
    name: 'Reconciler',
    the: 'the reconciler',
    does: () => 'Asks the provider about unknown keys whose look-up is due.',
    charted: 'look-ups a run',
    many: keys,
    would: (n) => `The provider will be asked about ${keys(n)}.`,
  },
  ledger: {
    name: 'Ledger comparison',
    the: 'the ledger comparison',
    does: () => 'Compares our ledger with the provider’s, and lists what differs.',
    charted: 'findings a run',
    many: (n) => plural(n, 'finding'),
    would: (n) => `${plural(n, 'finding')} will be listed.`,
  },
  bulk: {
    name: 'Bulk run',
    the: 'the bulk run',
    does: () => 'Does one thing to the keys that somebody chose.',
    charted: 'keys a run',
    many: keys,
    would: (n) => `${keys(n)} will be gone through.`,
  },
  restore: {
    name: 'Restore',
    the: 'the restore run',
    does: () => 'Lists what the provider did since the backup, so that nothing of it is done again.',
    charted: 'entries a run',
    many: (n) => plural(n, 'entry', 'entries'),
    would: (n) => `${plural(n, 'entry', 'entries')} will be kept.`,
  },
  traffic: {
    name: 'Sample traffic',
    the: 'the sample traffic',
    does: () => 'Sends requests of every kind through the API, to the sandbox provider.',
    charted: 'requests a run',
    many: (n) => plural(n, 'request'),
    would: (n) => `${plural(n, 'request')} will be sent.`,
  },
}

const BULK_NAMES: Record<BulkActionName, string> = {
  reconcile: 'Bulk look-up',
  'run-again': 'Bulk run again',
  resume: 'Bulk resume',
  expire: 'Bulk expiry',
}

/** Of one run. */
export const nameOfRun = ({ kind, action }: Pick<Run, 'kind' | 'action'>): string =>
  action ? BULK_NAMES[action] : DAEMON_WORDS[kind].name

/** The names under which runs count, as people say them. Null: a sum of others, or not worth a line. */
const COUNT_WORDS: Record<string, string> = {
  leasesOver: 'Leases over',
  unknown: 'became unknown',
  failedRetryable: 'released',
  settledByEvidence: 'Settled by evidence',
  abandoned: 'Ended with the stored 408',
  requeued: 'Given to a worker again',
  expired: 'Expired',
  deleted: 'Tombstones deleted',
  lookUps: 'Look-ups',
  succeeded: 'charged',
  declined: 'declined',
  not_found: 'no such charge',
  pending: 'pending at the provider',
  unreachable: 'no answer',
  settled: 'Settled',
  deadLettered: 'Left to a person',
  errors: 'Left as they were',
  runAgain: 'Handed to a worker',
  resumed: 'Look-ups resumed',
  liveKeyCountsCorrected: 'Live-key counts corrected',
  charge_without_order: 'Charge without an order',
  paid_without_charge: 'Paid without a charge',
  amount_differs: 'Amount differs',
  currency_differs: 'Currency differs',
  duplicate_charge: 'Charged twice',
  evidence: 'Evidence for a key',
  keptOfRestore: 'Kept, to be found by their keys',
  withoutDigest: 'Ours, and without a digest of their key',
  restored_differs: 'Lost record, another request',
  listed: 'Entries of the provider compared',
  booked: 'Entries of ours compared',
  leftOut: 'Left out, still being worked on',
  unconfirmed: 'Not confirmed, looked at again next time',
}

export const countWord = (name: string): string => COUNT_WORDS[name] ?? name
