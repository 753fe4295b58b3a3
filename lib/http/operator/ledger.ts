// What an admin does to the ledger.
import { z } from 'zod'
import { keyDetail } from '../openapi-operator-examples'
import { operatorCall } from '../operator-call'
import { Reasoned } from './key-actions'

const LedgerEntry = z
  .object({
    id: z.string(),
    kind: z.enum(['charge', 'refund']),
    status: z.enum(['succeeded', 'failed']),
    orderId: z.string(),
    recordId: z.string().nullable(),
    amountCents: z.int(),
    currency: z.string(),
    providerRef: z.string(),
    reversalOf: z.string().nullable().meta({ description: 'The entry that it takes back' }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'ReversingEntry', description: 'A booking that takes another one back' })

const [booked] = keyDetail.ledger

export const reverseEntry = operatorCall({
  method: 'POST',
  path: '/api/admin/ledger/{id}/reverse',
  operationId: 'reverseLedgerEntry',
  tag: 'Operators: keys',
  summary: 'Reverse a booking that a verdict made',
  description:
    'For a booking with a wrong provider reference. The entry and its reversing entry no longer count, and the reference ' +
    'is free for the key that it belongs to. The record’s answer and the order stay as they are, and a discrepancy ' +
    '`paid_without_charge` opens. What the provider itself confirmed is not reversible.',
  params: { id: /^pay_[0-9a-z]{26}$/ },
  role: 'admin',
  body: Reasoned,
  bodyExample: { reason: 'The reference belongs to another customer’s key.' },
  answer: {
    status: 201,
    description: 'The reversing entry.',
    schema: z.object({ entry: LedgerEntry }),
    example: {
      entry: {
        id: 'pay_01jcq2h9k3v9x4m6n7p8q9r0s2',
        kind: 'charge',
        status: 'succeeded',
        orderId: keyDetail.order!.id,
        recordId: keyDetail.record.id,
        amountCents: booked!.amountCents,
        currency: booked!.currency,
        providerRef: booked!.providerRef,
        reversalOf: booked!.id,
        createdAt: '2026-01-02T03:04:05.000Z',
      },
    },
  },
  problems: ['not_reversible'],
  does: (services) => services.reverseEntry,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
  present: (entry) => ({ entry }),
})
