// The end of the list: where the key stands, and what comes next.
import type { KeyDetail } from '../../../../../lib/console/key-detail'
import type { Part } from './moment'

export function endingOf(record: KeyDetail['record']): Part[] {
  switch (record.state) {
    case 'pending':
      return ['Waits for a worker']
    case 'in_progress':
      return record.lockedUntil ? ['Lease until ', { at: record.lockedUntil }] : ['Being worked on']
    case 'completed':
      return ['Kept until ', { at: record.expiresAt }]
    case 'failed_retryable':
      return record.deadLetteredAt
        ? ['Dead letter: a person can have it run again, until ', { at: record.expiresAt }]
        : ['Waits for the next attempt, until ', { at: record.expiresAt }]
    case 'unknown':
      if (record.deadLetteredAt) return ['Dead letter: no look-up comes by schedule until it is resumed']
      return record.reconcileAfter ? ['Next look-up at ', { at: record.reconcileAfter }] : ['No look-up planned']
    case 'expired':
      return ['A tombstone: 410 for every request']
  }
}
