// One key's detail as the store would tell it, with as little as a test has to say.
import type { KeyDetail } from '../../lib/console/key-detail'
import type { Act } from '../../lib/console/key-story'
import type { State } from '../../lib/idempotency/states'

const START = Date.parse('2026-11-16T13:58:02.000Z')

/** So many seconds after the key was made. */
export const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString()

export const event = (seconds: number, name: string, more: object = {}) => ({
  at: at(seconds),
  event: name,
  by: 'node-1',
  ...more,
})

export const RESERVED = event(0, 'reserved', { attempt: 1, recoveryPoint: 'charging' })
export const TIMED_OUT = event(10, 'outcome_unknown', { attempt: 1, code: 'timeout' })
export const lookedUp = (seconds: number, verdict: string, by = 'reconciler') =>
  event(seconds, 'looked_up', { by, attempt: 1, verdict })

export const act = (seconds: number, changes: Partial<Act>): Act => ({
  at: at(seconds),
  actorId: 'opr_mara',
  actorName: 'Mara Lindqvist',
  action: 'key.unmask',
  outcome: 'done',
  reason: 'the customer is on the phone',
  requestId: `req_${seconds}`,
  ...changes,
})

const ORDER: NonNullable<KeyDetail['order']> = {
  id: 'ord_1',
  status: 'pending_payment',
  customerId: 'cus_1042',
  currency: 'USD',
  amountCents: 18_450,
  refundedCents: 0,
  items: [{ sku: 'SKU-118', quantity: 3, unitPriceCents: 6150 }],
  note: null,
  payment: null,
  createdAt: at(0),
}

type Changes = Partial<Omit<KeyDetail, 'record'>> & { record?: Partial<KeyDetail['record']> }

export function aKey(state: State, { record, ...changes }: Changes = {}): KeyDetail {
  return {
    record: {
      id: 'idem_01jcq2h8j1s7u2w5y8a1c4e7g0',
      key: '8e03978e-40d5-43dd-bc93-6894a57f9324',
      endpoint: 'POST /api/orders',
      state,
      createdAt: at(0),
      completedAt: null,
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
      retryAfterSeconds: null,
      response: null,
      resource: { type: 'order', id: 'ord_1' },
      tenantId: 'ten_1',
      async: false,
      version: 2,
      attempt: 1,
      recoveryPoint: 'charging',
      lockedUntil: null,
      lockedBy: null,
      settlesAt: at(180),
      lastErrorCode: null,
      reconcileAfter: null,
      reconcileAttempts: 0,
      deadLetteredAt: null,
      replayCount: 0,
      lastReplayedAt: null,
      fingerprint: 'v1:00',
      requestId: 'req_1',
      ...record,
    },
    tenant: { id: 'ten_1', name: 'northwind', disabled: false },
    timeline: [RESERVED],
    order: ORDER,
    refund: null,
    ledger: [],
    evidence: [],
    discrepancies: [],
    misuse: [],
    request: {
      params: {},
      body: { customerId: 'cus_1042', currency: 'USD', items: ORDER.items, paymentMethod: '••••••' },
    },
    nextReplay: { kind: 'answered', status: 409, headers: {}, body: '{}', code: null, retry: null },
    ...changes,
  }
}

export function aRefund(state: State, { record, ...changes }: Changes = {}): KeyDetail {
  return aKey(state, {
    record: {
      endpoint: 'POST /api/orders/{id}/refunds',
      recoveryPoint: 'refunding',
      resource: { type: 'refund', id: 'ref_1' },
      ...record,
    },
    order: { ...ORDER, status: 'paid' },
    refund: {
      id: 'ref_1',
      orderId: 'ord_1',
      amountCents: 500,
      status: 'pending',
      providerRef: null,
      reason: null,
      createdAt: at(0),
    },
    request: { params: { id: 'ord_1' }, body: { amountCents: 500 } },
    ...changes,
  })
}

export const evidence = (
  seconds: number,
  changes: Partial<KeyDetail['evidence'][number]> = {},
): KeyDetail['evidence'][number] => ({
  id: `evd_${seconds}`,
  source: 'look_up',
  verdict: 'succeeded',
  ref: 'ch_7Qm',
  object: null,
  differs: false,
  attempt: 1,
  createdAt: at(seconds),
  ...changes,
})

export const booked = (changes: Partial<KeyDetail['ledger'][number]> = {}): KeyDetail['ledger'][number] => ({
  id: 'pay_1',
  kind: 'charge',
  status: 'succeeded',
  amountCents: 18_450,
  currency: 'USD',
  providerRef: 'ch_7Qm',
  recordId: 'idem_01jcq2h8j1s7u2w5y8a1c4e7g0',
  own: true,
  createdAt: at(1),
  reversalOf: null,
  reversedAt: null,
  ...changes,
})

export const discrepancy = (kind: string, closedAt: string | null = null): KeyDetail['discrepancies'][number] => ({
  id: 'dis_1',
  kind,
  subject: 'ch_7Qm',
  recordId: 'idem_1',
  detail: {},
  createdAt: at(60),
  closedAt,
  closedBy: null,
  reason: null,
})
