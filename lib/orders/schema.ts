// What an order and a refund look like on the wire. The same schemas validate requests, type the code and make the
// OpenAPI document.
import { z } from 'zod'
import { CURRENCIES } from './currency'

const MAX_TOTAL_CENTS = 2_000_000_000

/** PostgreSQL can't store a NUL, and a lone surrogate has no UTF-8: such text could not be given back as it came. */
const wellFormed = (value: string): boolean => !value.includes('\0') && value.isWellFormed()
const text = (min: number, max: number) =>
  z.string().min(min).max(max).refine(wellFormed, 'must not contain NUL or lone surrogates')

const Currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in capitals')
  .refine((code) => CURRENCIES.includes(code), 'must be an ISO 4217 code')
  .meta({ description: 'ISO 4217 code', example: 'USD' })

const OrderItem = z
  .strictObject({
    sku: text(1, 64).meta({ example: 'SKU-1' }),
    quantity: z.int().min(1).max(1000).meta({ example: 2 }),
    unitPriceCents: z.int().min(1).max(100_000_000).meta({ example: 1250 }),
  })
  .meta({ id: 'OrderItem' })

const totalCents = (items: { quantity: number; unitPriceCents: number }[]): number =>
  items.reduce((sum, item) => sum + item.quantity * item.unitPriceCents, 0)

export const OrderRequest = z
  .strictObject({
    customerId: text(1, 64).meta({ example: 'cus_1042' }),
    currency: Currency,
    items: z
      .array(OrderItem)
      .min(1)
      .max(100)
      .refine((items) => totalCents(items) <= MAX_TOTAL_CENTS, `the total must not exceed ${MAX_TOTAL_CENTS} cents`),
    paymentMethod: text(1, 64).meta({ description: 'With the sandbox gateway, picks its behaviour', example: 'pm_ok' }),
    note: text(0, 500).optional(),
  })
  .meta({ id: 'OrderRequest' })
export type OrderRequest = z.infer<typeof OrderRequest>

export const amountOf = (order: OrderRequest): number => totalCents(order.items)

const ORDER_STATUSES = ['pending_payment', 'paid', 'declined', 'abandoned', 'partially_refunded', 'refunded'] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

export const Order = z
  .object({
    id: z.string().meta({ example: 'ord_01jcq2h8k3v9x4m6n7p8q9r0s1' }),
    status: z.enum(ORDER_STATUSES),
    customerId: z.string(),
    currency: z.string(),
    amountCents: z.int(),
    refundedCents: z.int(),
    items: z.array(OrderItem),
    note: z.string().nullable(),
    payment: z
      .object({ id: z.string(), providerRef: z.string(), status: z.enum(['succeeded', 'failed']) })
      .nullable()
      .meta({ description: 'null until the provider’s answer is known' }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Order' })
export type Order = z.infer<typeof Order>

export const OrderList = z
  .object({ items: z.array(Order), nextCursor: z.string().nullable() })
  .meta({ id: 'OrderList' })

export const RefundRequest = z
  .strictObject({
    amountCents: z
      .int()
      .min(1)
      .max(MAX_TOTAL_CENTS)
      .optional()
      .meta({ description: 'What is left of the order, where it is not given', example: 500 }),
    reason: text(0, 500).optional(),
  })
  .meta({ id: 'RefundRequest' })
export type RefundRequest = z.infer<typeof RefundRequest>

export const Refund = z
  .object({
    id: z.string(),
    orderId: z.string(),
    amountCents: z.int(),
    status: z.enum(['pending', 'succeeded', 'declined', 'released', 'abandoned']),
    providerRef: z.string().nullable(),
    reason: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Refund' })
export type Refund = z.infer<typeof Refund>
