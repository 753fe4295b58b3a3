// By what rule a run picks its keys, for the table of a dry run.
import type { RunGroup } from '../../../lib/maintenance/run-view'
import { count } from '../../_ui/words'

export interface RuleWords {
  /** The predicate, as one would ask for it. */
  code?: string
  /** What code can't say. */
  text?: string
  /** What would be done, where the key stays in its state. */
  stays?: string
}

export function ruleOf({ rule, from, to }: Pick<RunGroup, 'rule' | 'from' | 'to'>, tombstoneHours: number): RuleWords {
  switch (rule) {
    case 'leasesOver':
      return {
        code: 'state = in_progress and lockedUntil <= now',
        text: to === 'unknown' ? 'The provider may have been called' : to && 'The provider was not called',
      } as RuleWords
    case 'settledByEvidence':
      return { code: `state = ${from ?? 'unknown'}`, text: 'Evidence of a charge is stored' }
    case 'abandoned':
      return { code: 'state = pending and expiresAt <= now', text: 'With the stored 408' }
    case 'requeued':
      return { code: `state = ${from ?? 'pending'}`, text: 'Accepted, and no job has it', stays: 'given to a worker' }
    case 'expired':
      return { code: `${from ? `state = ${from} and ` : ''}expiresAt <= now` }
    case 'deleted':
      return { code: `state = expired and expiredAt <= now - ${count(tombstoneHours)} h` }
    case 'leftAlone':
      return { text: 'Past its retention, but an unknown key never expires by itself', stays: 'left alone' }
    case 'lookUps':
      return { code: 'state = unknown and reconcileAfter <= now', text: 'Not a dead letter', stays: 'asked about' }
    case 'charge_without_order':
      return { text: 'The provider has it, and no order of ours does' }
    case 'paid_without_charge':
      return { text: 'We booked it, and the provider has no such thing' }
    case 'amount_differs':
    case 'currency_differs':
      return { text: 'Both have it, and they differ' }
    case 'duplicate_charge':
      return { text: 'A further one beside another of the same key' }
    case 'evidence':
      return { text: 'A charge that was taken for not executed: it goes the way of all evidence' }
    default:
      return {}
  }
}
