// What an admin does about one customer of a tenant.
import { z } from 'zod'
import { STATES } from '../../idempotency/states'
import { operatorCall } from '../operator-call'
import { reasonOf } from './key-actions'

export const eraseCustomer = operatorCall({
  method: 'POST',
  path: '/api/admin/customers/{id}/erase',
  operationId: 'eraseCustomer',
  tag: 'Operators: access',
  summary: 'Erase a customer’s data',
  description:
    'Erases the payment method and the note of each order of this customer and the reason of each refund, and ends the ' +
    'keys whose stored request and answer hold them: their clients get 410. Amounts, items, ids, ledger and audit log ' +
    'stay. A key that is not final (`pending`, `in_progress`, `unknown`) is left as it is, with its order or refund, and ' +
    'named in `open`: call again when it is final. Works in batches, each with its audit entry, so a call that was cut ' +
    'off can be repeated.',
  params: { id: /^[^\0]{1,64}$/u },
  role: 'admin',
  body: z.strictObject({
    reason: reasonOf(1),
    tenantId: z
      .string()
      .min(1)
      .max(64)
      .refine((text) => !text.includes('\0') && text.isWellFormed(), 'has a NUL or a lone surrogate')
      .optional()
      .meta({ description: 'Needed where several tenants have a customer of this id' }),
  }),
  bodyExample: { reason: 'The customer asked for it on 12 March.', tenantId: 'ten_01jcq1w4z7b0d3f6h9k2n5q8s1' },
  answer: {
    status: 200,
    description: 'What this call erased, and what it had to leave.',
    schema: z
      .object({
        customerId: z.string(),
        tenantId: z.string(),
        orders: z.int(),
        refunds: z.int(),
        keys: z.int().meta({ description: 'Ended, so that request and answer are gone' }),
        open: z
          .array(z.object({ id: z.string(), state: z.enum(STATES) }))
          .meta({ description: 'Keys that are not final yet, at most 100: nothing of theirs is erased' }),
      })
      .meta({ id: 'Erasure', description: 'What was erased of a customer, and what could not be' }),
    example: {
      customerId: 'cus_1042',
      tenantId: 'ten_01jcq1w4z7b0d3f6h9k2n5q8s1',
      orders: 12,
      refunds: 1,
      keys: 2,
      open: [],
    },
  },
  does: (services) => services.eraseCustomer,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})
