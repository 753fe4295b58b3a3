// What people do about outcomes that nobody could find out, each behind the check of its role.
import type { KeyDecision } from '../maintenance/run-again'
import { isRefused, refuse } from '../operators/refusal'
import type { Guard, UseCase } from '../operators/use-case'
import { maskedAnswer } from '../orders/masking'
import type { Reconciliation } from './reconcile'
import { type ReconciledKey, reconcileKey } from './reconcile-key'
import { type Decision, type Resolution, resolve } from './resolve'
import { previewResolution, type ResolutionPreview } from './resolve-preview'
import { resumeKey } from './resume'
import { type LedgerEntryView, reverseEntry } from './reverse'

/** `Shown` is the record as whoever asks is shown it. */
export interface ReconciliationUseCases<Shown extends object> {
  reconcileKey: UseCase<{ id: string; reason?: string }, ReconciledKey>
  resolveKey: UseCase<Decision, Shown>
  reverseEntry: UseCase<{ id: string; reason: string }, LedgerEntryView>
  resumeKey: UseCase<KeyDecision, Shown>
  previewResolution: UseCase<Resolution & { id: string }, ResolutionPreview>
}

export function reconciliationUseCases<Shown extends object>(
  reconciliation: Reconciliation,
  guard: Guard,
  findRecord: (id: string) => Promise<Shown | null>,
): ReconciliationUseCases<Shown> {
  return {
    reconcileKey: guard({ action: 'key.reconcile', role: 'operator', target: ({ id }) => id }, (call, asked) =>
      reconcileKey(reconciliation, call, asked),
    ),
    resolveKey: guard(
      { action: 'key.resolve', role: 'operator', target: ({ id }) => id },
      async (call, decision) =>
        (await resolve(reconciliation, call, decision)) ?? (await findRecord(decision.id)) ?? refuse('not_found'),
    ),
    reverseEntry: guard({ action: 'ledger.reverse', role: 'admin', target: ({ id }) => id }, (call, asked) =>
      reverseEntry(reconciliation, call, asked),
    ),
    resumeKey: guard(
      { action: 'key.resume', role: 'operator', target: ({ id }) => id },
      async (call, decision) =>
        (await resumeKey(reconciliation.boundary.store, call, decision)) ??
        (await findRecord(decision.id)) ??
        refuse('not_found'),
    ),
    previewResolution: guard({ action: 'key.preview', role: 'viewer', target: ({ id }) => id }, async (_, asked) => {
      const preview = await previewResolution(reconciliation, asked)
      return isRefused(preview) ? preview : { ...preview, replay: preview.replay && maskedAnswer(preview.replay) }
    }),
  }
}
