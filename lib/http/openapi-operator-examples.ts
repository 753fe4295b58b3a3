// The values that the reference shows of what operators see. The same story: an order whose answer was lost, and that a
// look-up found charged.
import type { z } from 'zod'
import type { AuditEntry } from '../audit/read'
import type { Attention } from '../console/attention'
import type { Discrepancy } from '../console/discrepancies'
import type { KeyDetail } from '../console/key-detail'
import type { MisuseRow } from '../console/misuse'
import type { OperatorRecord } from '../console/record-view'
import type { Stats } from '../console/stats'
import { COUNTER_NAMES, type CounterName } from '../metrics/names'
import { completedRecord, KEY, order, orderRequest } from './openapi-examples'

const RECORD_ID = 'idem_01jcq2h8j1s7u2w5y8a1c4e7g0'
const TENANT_ID = 'ten_01jcq1x5a8c1e4g7j0m3p6r9t2'
const REF = order.payment!.providerRef
const MASK = '••••••'

export const operatorRecord: z.infer<typeof OperatorRecord> = {
  ...completedRecord,
  id: RECORD_ID,
  tenantId: TENANT_ID,
  async: false,
  completedAt: '2025-11-16T14:01:33.402Z',
  expiresAt: '2025-11-17T14:01:33.402Z',
  version: 4,
  attempt: 1,
  recoveryPoint: 'charging',
  lockedUntil: null,
  lockedBy: null,
  settlesAt: '2025-11-16T14:01:02.118Z',
  lastErrorCode: null,
  reconcileAfter: null,
  reconcileAttempts: 0,
  deadLetteredAt: null,
  replayCount: 1,
  lastReplayedAt: '2025-11-16T14:02:10.877Z',
  fingerprint: `v1:${'5f'.repeat(32)}`,
  requestId: 'req_01jcq2h8h0r6t1v4x7z0b3d6f9',
}

export const discrepancy: Discrepancy = {
  id: 'dis_01jcq2t9a1c4e7g0j3m6p9r2t5',
  kind: 'contradicting_evidence',
  subject: `${RECORD_ID}:sbx_ch_01jcq2t8z0b3d6f9h2k5n8q1s4`,
  recordId: RECORD_ID,
  detail: { verdict: 'succeeded', ref: 'sbx_ch_01jcq2t8z0b3d6f9h2k5n8q1s4', source: 'webhook', effectRef: REF },
  createdAt: '2025-11-16T14:05:51.240Z',
  closedAt: null,
  closedBy: null,
  reason: null,
}

export const misuse: MisuseRow = {
  id: 'mis_01jcq2h8j1s7u2w5y8a1c4e7g0_1763301780_00',
  at: '2025-11-16T14:03:12.009Z',
  tenantId: TENANT_ID,
  endpoint: 'POST /api/orders',
  key: KEY,
  recordId: RECORD_ID,
  changedPaths: ['$.items[0].quantity'],
  requestId: 'req_01jcq2r5t8w1y4a7c0e3g6j9m2',
}

export const auditEntry: AuditEntry = {
  seq: 1288,
  at: '2025-11-16T14:20:05.019Z',
  actorId: 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4',
  actorName: 'Ada Byron',
  action: 'discrepancy.close',
  target: discrepancy.id,
  outcome: 'done',
  count: 1,
  reason: 'refunded by hand at the provider',
  before: { open: true },
  after: { open: false, kind: discrepancy.kind, recordId: RECORD_ID },
  requestId: 'req_01jcq3a0z2b5d8f1h4k7n0q3s6',
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
}

export const keyDetail: KeyDetail = {
  record: operatorRecord,
  tenant: { id: TENANT_ID, name: 'acme', disabled: false },
  timeline: [
    { at: '2025-11-16T13:58:02.118Z', event: 'reserved', by: 'node-1', attempt: 1, recoveryPoint: 'charging' },
    { at: '2025-11-16T13:58:12.131Z', event: 'outcome_unknown', by: 'node-1', attempt: 1, code: 'timeout' },
    { at: '2025-11-16T14:01:33.402Z', event: 'settled', by: 'look_up', attempt: 1, verdict: 'succeeded', status: 201 },
  ],
  order,
  refund: null,
  ledger: [
    {
      id: order.payment!.id,
      kind: 'charge',
      status: 'succeeded',
      amountCents: order.amountCents,
      currency: order.currency,
      providerRef: REF,
      recordId: RECORD_ID,
      own: true,
      reversalOf: null,
      reversedAt: null,
      createdAt: '2025-11-16T14:01:33.402Z',
    },
  ],
  evidence: [
    {
      id: 'evd_01jcq2p7w3y6a9c2e5g8j1m4q7',
      source: 'look_up',
      verdict: 'succeeded',
      ref: REF,
      object: { amountCents: order.amountCents, currency: order.currency, createdAt: order.createdAt },
      differs: false,
      attempt: 1,
      createdAt: '2025-11-16T14:01:33.402Z',
    },
  ],
  discrepancies: [],
  misuse: [],
  request: { params: {}, body: { ...orderRequest, paymentMethod: MASK } },
  nextReplay: {
    kind: 'answered',
    status: 201,
    headers: {
      'content-type': 'application/json',
      location: `/api/orders/${order.id}`,
      'idempotency-key': `"${KEY}"`,
      'idempotency-expires': 'Mon, 17 Nov 2025 14:01:33 GMT',
      'idempotent-replayed': 'true',
    },
    body: JSON.stringify(order),
    code: null,
    retry: null,
  },
}

const counts = (given: Partial<Record<CounterName, number>>) =>
  ({ ...Object.fromEntries(COUNTER_NAMES.map((name) => [name, 0])), ...given }) as Record<CounterName, number>

const attention: Attention[] = [
  { concern: 'dead_letters', count: 2, rows: { list: 'keys', query: 'deadLettered=true' } },
]

export const stats: Stats = {
  window: '1h',
  from: '2025-11-16T13:21:00.000Z',
  to: '2025-11-16T14:20:31.204Z',
  step: 60,
  records: {
    pending: { count: 0, estimated: false },
    in_progress: { count: 4, estimated: false },
    completed: { count: 418_211, estimated: true },
    failed_retryable: { count: 12, estimated: false },
    unknown: { count: 3, estimated: false },
    expired: { count: 2_910_046, estimated: true },
  },
  oldestUnknownSeconds: 812.4,
  deadLetters: 2,
  totals: counts({ reserve_created: 17_402, reserve_replay: 391 }),
  series: [{ at: '2025-11-16T14:20:00.000Z', filling: true, ...counts({ reserve_created: 151, reserve_replay: 2 }) }],
  latency: {
    p50: 0.041,
    p95: 0.22,
    p99: 1.31,
    count: 17_799,
    series: [{ at: '2025-11-16T14:20:00.000Z', filling: true, p50: 0.04, p95: 0.2, p99: 0.9, count: 153 }],
  },
  replayDelay: { p50: 2.4, p95: 61, p99: 1500, p999: 14_400, count: 391 },
  advice: {
    lease: {
      enough: true,
      samples: 2_910_000,
      windowDays: 7,
      p99Seconds: 1.4,
      leaseSeconds: 60,
      recommendedSeconds: 21,
      warn: false,
    },
    retention: {
      enough: true,
      samples: 61_377,
      windowDays: 30,
      p90Seconds: 2400,
      p99Seconds: 21_600,
      p999Seconds: 40_210,
      retentionSeconds: 86_400,
      recommendedSeconds: 43_200,
      tooLateShare: 0,
      warn: false,
    },
  },
  attention,
}
