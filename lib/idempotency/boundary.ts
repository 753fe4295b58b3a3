// What the boundary needs from the node that it runs in.
import type { Store } from '../db/store'
import type { LostEffects } from './lost-effects'
import type { Answer } from './operation'
import type { State } from './states'
import type { Batches } from './store/batches'
import type { Waiting } from './waiting'

export interface Boundary {
  store: Store
  /** What arrives together is reserved and settled together; without it, each by itself. */
  batches?: Batches
  waiting: Waiting
  nodeId: string
  leaseMs: number
  settleMs: number
  defaultRetentionHours: number
  /** The stored answer of an accepted request that no worker began in time. */
  requestExpired: Answer
  /** Where the database was restored: what the provider did that it may have lost. */
  lostEffects?: LostEffects
  /** Told of what a request's own outcome does not say, for whoever counts. */
  observe?(event: BoundaryEvent): void
  /** Passed between any two statements or calls of whoever works on a record. A test holds or kills the process here. */
  step?(step: Step): Promise<void> | void
}

export type BoundaryEvent = Noticed | Moved

interface Noticed {
  kind:
    | 'created'
    | 'claimed'
    /** A lease ran out. */
    | 'zombie'
    /** An owner found itself fenced. */
    | 'late_result'
    /** An outcome became unknown. */
    | 'reconcile_scheduled'
    /** An unknown outcome was found out, by whomever. */
    | 'reconcile_resolved'
    /** The provider could not be reached about one, or it was asked for the last time. */
    | 'reconcile_failed'
  endpoint: string
  tenantId: string
  /** Of a claim: what it took the record up from. */
  from?: 'pending' | 'failed_retryable'
}

/** A record went from one state to another; from none when it was made, to none when it was deleted. */
export interface Moved {
  kind: 'moved'
  from: State | null
  to: State | null
  endpoint: string
  tenantId: string
  /** How many went together; one, unless it is said. */
  count?: number
  /** Of an outcome that was found out: how long it had been unknown. */
  unknownSeconds?: number | null
}

/** Each says what has just been done, or is about to be; whoever does it, an owner or another in its place. */
export const STEPS = [
  'reserving',
  'reserved',
  /** Refused by the unique index, before it is read what by. */
  'taken',
  'found',
  'claimed',
  'advanced',
  'looked_up',
  'calling',
  'called',
  'settled',
  'released',
  'given_up',
  'lease_over',
  /** A guarded write changed nothing: the record is not as it was read. */
  'late',
  'evidence_read',
  'told',
  'evidence_kept',
  'proof_read',
  'recalled',
  'reconciling',
  'put_off',
  'requeued',
] as const
export type Step = (typeof STEPS)[number]
