// What operators can learn about the audit log as a whole.
import type { Store } from '../db/store'
import type { Guard, UseCase } from '../operators/use-case'
import { type Verification, verifyAudit } from './verify'

export interface AuditUseCases {
  verifyAudit: UseCase<void, Verification>
}

export function auditUseCases(store: Store, guard: Guard): AuditUseCases {
  // The whole log is read: those who ask at the same time share one reading.
  let reading: Promise<Verification> | null = null
  return {
    verifyAudit: guard({ action: 'audit.verify', role: 'viewer' }, () => {
      reading ??= verifyAudit(store).finally(() => {
        reading = null
      })
      return reading
    }),
  }
}
