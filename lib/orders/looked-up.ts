// What a gateway found, as the boundary is told of it.
import type { LookUpVerdict } from '../idempotency/operation'
import type { LookUpOutcome } from '../payments/gateway'

export function lookedUp(found: LookUpOutcome): LookUpVerdict {
  switch (found.kind) {
    case 'succeeded': {
      const { amountCents, currency, createdAt } = found
      return { kind: 'succeeded', ref: found.providerRef, shown: { amountCents, currency, createdAt } }
    }
    case 'declined':
      return { kind: 'declined', ref: found.providerRef }
    case 'not_found':
    case 'pending':
    case 'unreachable':
      return { kind: found.kind }
  }
}
