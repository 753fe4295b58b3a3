// What payment providers send to us: no calls of a client, so they are webhooks and not paths.
import { z } from 'zod'
import type { ZodOpenApiPathItemObject } from 'zod-openapi'
import { SANDBOX_SIGNATURE_HEADER, SandboxEvent } from '../payments/sandbox-webhooks-event'
import { headers } from './openapi-headers'
import { FAILURES, problemResponses } from './openapi-problem'

const Received = z
  .object({ received: z.literal(true) })
  .meta({ id: 'Received', description: 'The event is stored, was known already, or is none of ours' })

const StripeEvent = z
  .looseObject({
    id: z.string().meta({ description: 'Its id. An event that was taken in before does nothing' }),
    type: z.string().meta({ description: 'What happened; other types than those named above are received and left' }),
    data: z.looseObject({ object: z.looseObject({}) }).meta({ description: 'The object, as Stripe has it' }),
  })
  .meta({ id: 'StripeEvent', description: 'An event, as Stripe sends it' })

interface Webhook {
  name: string
  path: string
  description: string
  signature: string
  event: z.ZodType
  example: unknown
}

const webhook = ({ name, path, description, signature, event, example }: Webhook): ZodOpenApiPathItemObject => ({
  post: {
    operationId: `receive${name}Event`,
    tags: ['Webhooks'],
    summary: `Receive an event of ${name}`,
    description: `Sent to \`POST ${path}\`. ${description} Anything but a 2xx has it sent again.`,
    security: [],
    requestParams: {
      header: z.object({
        [signature]: z.string().meta({
          description:
            '`t=…,v1=…`: when it was signed, at most five minutes ago, and the HMAC-SHA256 over `t.body` with the secret of ' +
            'this endpoint',
        }),
      }),
    },
    requestBody: {
      description: 'The event. Its bytes are what is signed.',
      required: true,
      content: { 'application/json': { schema: event, example } },
    },
    responses: {
      '200': {
        description: 'The event was received.',
        headers: headers('x-request-id'),
        content: { 'application/json': { schema: Received, example: { received: true } } },
      },
      ...problemResponses([
        { code: 'body_too_large', retry: 'none' },
        'invalid_signature',
        { code: 'invalid_request', retry: 'none' },
        'not_found',
        ...FAILURES,
      ]),
    },
  },
})

export const webhooks: Record<string, ZodOpenApiPathItemObject> = {
  sandbox: webhook({
    name: 'Sandbox',
    path: '/api/webhooks/sandbox',
    description: 'The sandbox provider reports each charge and refund, where `SANDBOX_WEBHOOK_DELAY_MS` is set.',
    signature: SANDBOX_SIGNATURE_HEADER,
    event: SandboxEvent,
    example: {
      id: 'evt_01jcq2h8q4t7w1z5b9d3f7h1k5',
      type: 'charge.succeeded',
      createdAt: '2025-11-16T13:58:02.640Z',
      data: {
        ref: 'sbx_ch_01jcq2h8p5s2v6x0z4a8c1e3g7',
        providerKey: 'idem_01jcq2h8j1s7u2w5y8a1c4e7g0',
        kind: 'charge',
        status: 'succeeded',
        amountCents: 2500,
        currency: 'USD',
        orderId: 'ord_01jcq2h8k3v9x4m6n7p8q9r0s1',
        customerId: 'cus_1042',
      },
    },
  }),
  stripe: webhook({
    name: 'Stripe',
    path: '/api/webhooks/stripe',
    description:
      'Stripe reports payments and refunds, with the gateway `stripe`: `payment_intent.*`, `refund.*` and `charge.refund.updated`.',
    signature: 'stripe-signature',
    event: StripeEvent,
    example: {
      id: 'evt_1PqW2r2eZvKYlo2C9d8sX4aB',
      type: 'payment_intent.succeeded',
      data: { object: { id: 'pi_3PqW2q2eZvKYlo2C1x7nV5cD', object: 'payment_intent' } },
    },
  }),
}
