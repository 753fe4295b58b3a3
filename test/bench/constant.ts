// The fastest answer that a host can give: an order's bytes and headers, known beforehand.
import type { Answer } from './unguarded-order'

const id = 'ord_01jcq2h8k3v9x4m6n7p8q9r0s1'

export const CONSTANT: Answer = {
  status: 201,
  headers: {
    'content-type': 'application/json',
    location: `/api/orders/${id}`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'idempotency-key': '"bench-00000000-00000000"',
  },
  body: JSON.stringify({
    id,
    status: 'paid',
    customerId: 'cus_00000000',
    currency: 'USD',
    amountCents: 2500,
    refundedCents: 0,
    items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
    note: null,
    payment: {
      id: 'pay_01jcq2h8k3v9x4m6n7p8q9r0s1',
      providerRef: 'sbx_ch_01jcq2h8k3v9x4m6n7p8q9r0s1',
      status: 'succeeded',
    },
    createdAt: '2026-01-01T00:00:00.000Z',
  }),
}
