// What clients do, how the provider behaves, and who finds out what became of it. Where a flow may break is not written
// here: that is discovered by playing it (boundaries.ts).
import type { Step } from '../../../lib/idempotency/boundary'

type Kind = 'sync' | 'async' | 'refund'

/** What happens to a request that is held for a while. */
type Pause =
  /** Longer than its lease, and somebody notices. */
  | 'overslept'
  /** The provider tells of the charge meanwhile. */
  | 'told'
  /** The same, and it never goes on: the client asks again once its lease is over. */
  | 'left'

export interface Flow {
  kind: Kind
  /** In the table. */
  name: string
  /** The sandbox's word for what the provider does, without prefix. */
  behaviour: string
  /** Of the order that is to be refunded. */
  orderMethod?: string
  /** The provider is first asked when its word is proof, whatever it is. */
  isPatient?: boolean
  /** How an unknown outcome becomes known: somebody asks the provider, or it tells. */
  foundOutBy?: 'webhook'
  /** The request is held at its first pass of the step, and goes on. What comes before is another flow's. */
  pause?: { leg: string; step: Step; what: Pause }
}

const BEHAVIOURS: Record<string, string> = {
  charged: 'ok',
  declined: 'declined',
  'refused once': 'refused_once',
  'timeout, charged': 'timeout_charged',
  'timeout, lost': 'timeout_lost_once',
  'error, charged': 'error_once',
  'timeout, charged late': 'late_3200_once',
}

const plain = (kind: Kind): Flow[] =>
  Object.entries(BEHAVIOURS).map(([name, behaviour]) => ({
    kind,
    name,
    behaviour,
    isPatient: behaviour.startsWith('late'),
  }))

const TOLD: Omit<Flow, 'kind'> = {
  name: 'timeout, charged; a webhook tells',
  behaviour: 'timeout_charged',
  foundOutBy: 'webhook',
}
const TOLD_WHILE_OWNED: Omit<Flow, 'kind'> = {
  name: 'timeout, charged; told while it waits',
  behaviour: 'timeout_charged',
  pause: { leg: 'request1', step: 'called', what: 'told' },
}
const LEFT: Omit<Flow, 'kind'> = {
  name: 'charged and told; its owner is gone',
  behaviour: 'ok',
  pause: { leg: 'request1', step: 'called', what: 'left' },
}
const OVERSLEPT: Omit<Flow, 'kind'> = {
  name: 'charged; overslept its lease',
  behaviour: 'ok',
  pause: { leg: 'request1', step: 'called', what: 'overslept' },
}
// Only a retry of a record in doubt asks the provider before it calls.
const RETRY_OVERSLEPT: Omit<Flow, 'kind'> = {
  name: 'timeout, lost; the retry overslept',
  behaviour: 'timeout_lost_once',
  isPatient: true,
  pause: { leg: 'request2', step: 'looked_up', what: 'overslept' },
}

export const FLOWS: Flow[] = [
  ...(['sync', 'async', 'refund'] as const).flatMap(plain),
  { kind: 'refund', name: 'of an order that was declined', behaviour: 'ok', orderMethod: 'pm_declined' },
  ...(['sync', 'refund'] as const).flatMap((kind) =>
    [TOLD, TOLD_WHILE_OWNED, LEFT, OVERSLEPT, RETRY_OVERSLEPT].map((flow) => ({ kind, ...flow })),
  ),
  { kind: 'async', ...TOLD },
]
