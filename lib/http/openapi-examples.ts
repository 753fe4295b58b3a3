// The values that the OpenAPI document, and so the API reference, shows. One story: an order, and a refund of it.
import type { z } from 'zod'
import type { ClientRecord } from '../idempotency/view'
import type { Order, OrderRequest, Refund, RefundRequest } from '../orders/schema'
import type { SandboxChargeView } from '../payments/sandbox-ledger'

export const ORDER_ID = 'ord_01jcq2h8k3v9x4m6n7p8q9r0s1'
export const REFUND_ID = 'ref_01jcq2m4t7w1y5b8d2f6g9h3k0'
export const KEY = '8e03978e-40d5-43dd-bc93-6894a57f9324'
const CHARGE_REF = 'sbx_ch_01jcq2h8p5s2v6x0z4a8c1e3g7'

export const orderRequest: OrderRequest = {
  customerId: 'cus_1042',
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: 'pm_ok',
}

export const order: Order = {
  id: ORDER_ID,
  status: 'paid',
  customerId: 'cus_1042',
  currency: 'USD',
  amountCents: 2500,
  refundedCents: 0,
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  note: null,
  payment: { id: 'pay_01jcq2h8r6t3w7y1b5d9f2h4j8', providerRef: CHARGE_REF, status: 'succeeded' },
  createdAt: '2025-11-16T13:58:02.118Z',
}

export const refundRequest: RefundRequest = { amountCents: 500, reason: 'one of two came broken' }

export const refund: Refund = {
  id: REFUND_ID,
  orderId: ORDER_ID,
  amountCents: 500,
  status: 'succeeded',
  providerRef: 'sbx_re_01jcq2m4v8x2z6c9e3g7j1m5p0',
  reason: 'one of two came broken',
  createdAt: '2025-11-16T14:12:40.507Z',
}

export const acceptedRecord: z.infer<typeof ClientRecord> = {
  key: KEY,
  endpoint: 'POST /api/orders',
  state: 'pending',
  createdAt: '2025-11-16T13:58:02.118Z',
  completedAt: null,
  expiresAt: '2025-11-17T13:58:02.118Z',
  retryAfterSeconds: 1,
  response: null,
  resource: { type: 'order', id: ORDER_ID },
}

export const completedRecord: z.infer<typeof ClientRecord> = {
  ...acceptedRecord,
  state: 'completed',
  completedAt: '2025-11-16T13:58:02.871Z',
  expiresAt: '2025-11-17T13:58:02.871Z',
  retryAfterSeconds: null,
  response: { status: 201 },
}

export const charge: SandboxChargeView = {
  ref: CHARGE_REF,
  customerId: 'cus_1042',
  orderId: ORDER_ID,
  amountCents: 2500,
  status: 'succeeded',
  kind: 'charge',
  createdAt: '2025-11-16T13:58:02.640Z',
}
