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
    sku: text(1, 64).meta({ description: 'Your name for what is sold', example: 'SKU-1' }),
    quantity: z.int().min(1).max(1000).meta({ description: 'How many', example: 2 }),
    unitPriceCents: z
      .int()
      .min(1)
      .max(100_000_000)
      .meta({ description: 'The price of one, in the currency’s smallest unit', example: 1250 }),
  })
  .meta({ id: 'OrderItem', description: 'A line of an order' })

const totalCents = (items: { quantity: number; unitPriceCents: number }[]): number =>
  items.reduce((sum, item) => sum + item.quantity * item.unitPriceCents, 0)

export const OrderRequest = z
  .strictObject({
    customerId: text(1, 64).meta({ description: 'Your name for who buys. Not an address', example: 'cus_1042' }),
    currency: Currency,
    items: z
      .array(OrderItem)
      .min(1)
      .max(100)
      .refine((items) => totalCents(items) <= MAX_TOTAL_CENTS, `the total must not exceed ${MAX_TOTAL_CENTS} cents`)
      .meta({ description: 'What is bought. Their order is part of the request' }),
    paymentMethod: text(1, 64).meta({ description: 'With the sandbox gateway, picks its behaviour', example: 'pm_ok' }),
    note: text(0, 500).optional().meta({ description: 'Whatever you want to keep with the order' }),
  })
  .meta({ id: 'OrderRequest', description: 'An order to be placed. Unknown members are refused' })
export type OrderRequest = z.infer<typeof OrderRequest>

export const amountOf = (order: OrderRequest): number => totalCents(order.items)

const ORDER_STATUSES = ['pending_payment', 'paid', 'declined', 'abandoned', 'partially_refunded', 'refunded'] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

export const Order = z
  .object({
    id: z.string().meta({ description: 'The order’s id', example: 'ord_01jcq2h8k3v9x4m6n7p8q9r0s1' }),
    status: z.enum(ORDER_STATUSES).meta({
      description:
        '`pending_payment` while it is not known whether it was paid; `abandoned`: nothing was charged and nothing will ' +
        'be, since its key ran out',
    }),
    customerId: z.string().meta({ description: 'As it was sent' }),
    currency: z.string().meta({ description: 'ISO 4217 code, as it was sent' }),
    amountCents: z.int().meta({ description: 'The total, in the currency’s smallest unit' }),
    refundedCents: z.int().meta({ description: 'How much of it was given back' }),
    items: z.array(OrderItem).meta({ description: 'As they were sent' }),
    note: z.string().nullable().meta({ description: 'As it was sent; null for none' }),
    payment: z
      .object({
        id: z.string().meta({ description: 'The payment’s id here' }),
        providerRef: z.string().meta({ description: 'Its reference at the payment provider' }),
        status: z.enum(['succeeded', 'failed']).meta({ description: '`failed`: declined, nothing was charged' }),
      })
      .nullable()
      .meta({ description: 'null until the provider’s answer is known' }),
    createdAt: z.iso.datetime().meta({ description: 'When the order was taken, in UTC' }),
  })
  .meta({ id: 'Order', description: 'An order. A read has it as it is now, a replay as it was answered first' })
export type Order = z.infer<typeof Order>

export const OrderList = z
  .object({
    items: z.array(Order).meta({ description: 'Newest first' }),
    nextCursor: z.string().nullable().meta({ description: 'For the next page, as `cursor`; null on the last one' }),
  })
  .meta({ id: 'OrderList', description: 'A page of orders' })

export const RefundRequest = z
  .strictObject({
    amountCents: z
      .int()
      .min(1)
      .max(MAX_TOTAL_CENTS)
      .optional()
      .meta({ description: 'What is left of the order, where it is not given', example: 500 }),
    reason: text(0, 500)
      .optional()
      .meta({ description: 'Why. With the sandbox gateway `sandbox:…` picks its behaviour' }),
  })
  .meta({ id: 'RefundRequest', description: 'A refund to be made. Unknown members are refused' })
export type RefundRequest = z.infer<typeof RefundRequest>

export const Refund = z
  .object({
    id: z.string().meta({ description: 'The refund’s id' }),
    orderId: z.string().meta({ description: 'The order that it gives back from' }),
    amountCents: z.int().meta({ description: 'How much, in the currency’s smallest unit' }),
    status: z.enum(['pending', 'succeeded', 'declined', 'released', 'abandoned']).meta({
      description:
        '`pending` while it is not known; `released`: proven not executed, and the same key may be tried again; ' +
        '`abandoned`: nothing was given back and nothing will be, since its key ran out',
    }),
    providerRef: z.string().nullable().meta({ description: 'Its reference at the payment provider, once known' }),
    reason: z.string().nullable().meta({ description: 'As it was sent; null for none' }),
    createdAt: z.iso.datetime().meta({ description: 'When the refund was taken, in UTC' }),
  })
  .meta({ id: 'Refund', description: 'A refund of an order, or of a part of it' })
export type Refund = z.infer<typeof Refund>
