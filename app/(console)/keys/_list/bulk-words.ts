// What a bulk run does, in words: before it begins, while it goes on, and after it.
import type { BulkActionName } from '../../../../lib/maintenance/bulk-action'

interface BulkWords {
  /** Of the dialog; `keys` is how many. */
  title(keys: string): string
  button: string
  means: string
  running: string
  succeeded(keys: string): string
}

export const BULK_WORDS: Record<BulkActionName, BulkWords> = {
  reconcile: {
    title: (keys) => `Ask the provider about ${keys}`,
    button: 'Ask the provider',
    means:
      'One look-up for each key. An unknown outcome is settled where the answer is proof; of every other key it is ' +
      'reported what the provider says, and nothing changes.',
    running: 'Asking the provider',
    succeeded: (keys) => `The provider was asked about ${keys}`,
  },
  'run-again': {
    title: (keys) => `Run ${keys} again`,
    button: 'Run again',
    means:
      'Each accepted key that is proven not executed is handed to a worker at once, also when it is a dead letter. ' +
      'Every other key stays as it is, and the run says so.',
    running: 'Handing keys to the workers',
    succeeded: (keys) => `The run went through ${keys}`,
  },
  resume: {
    title: (keys) => `Resume the look-ups of ${keys}`,
    button: 'Resume',
    means:
      'Each dead letter whose outcome is unknown is looked up by schedule again, from the first interval. Every other ' +
      'key stays as it is, and the run says so.',
    running: 'Resuming look-ups',
    succeeded: (keys) => `The run went through ${keys}`,
  },
  expire: {
    title: (keys) => `Expire ${keys}`,
    button: 'Expire',
    means:
      'Each key that is completed or proven not executed ends now: its request and answer are erased, and its client’s ' +
      'next try gets 410. An order that was not paid is abandoned. This can’t be taken back. Every other key stays as it is.',
    running: 'Expiring keys',
    succeeded: (keys) => `The run went through ${keys}`,
  },
}
