// What a request that finds a record may do about it. Pure: the row says everything, and whoever acts on the
// decision is guarded by the state and attempt that were read here.
import type { KeyRecord } from './record'

export type Decision =
  /** Same key, other request: whatever the state, nothing of the record is told. */
  | 'misuse'
  | 'expired'
  | 'replay'
  /** Somebody has it, or will: wait, or come back. */
  | 'running'
  | 'unknown'
  /** The owner is gone: its recovery point says what that means, then decide again. */
  | 'lease_over'
  /** Evidence of the effect is stored: settle with it before anything else. */
  | 'settle_by_evidence'
  | 'claim'

export function decide(record: KeyRecord, fingerprint: string): Decision {
  if (record.fingerprint !== fingerprint) return 'misuse'
  switch (record.state) {
    case 'expired':
      return 'expired'
    case 'completed':
      return record.pastExpiry ? 'expired' : 'replay'
    case 'pending':
      return 'running'
    case 'in_progress':
      return record.leaseLeftMs !== null && record.leaseLeftMs <= 0 ? 'lease_over' : 'running'
    case 'unknown':
      return record.effectEvidence ? 'settle_by_evidence' : 'unknown'
    case 'failed_retryable':
      if (record.effectEvidence) return 'settle_by_evidence'
      if (record.pastExpiry) return 'expired'
      // An asynchronous request is run again by the worker, never by a client.
      return record.async ? 'running' : 'claim'
  }
}
