// What operators do to single keys: ask about one, decide about one, end one.
import { z } from 'zod'
import { EvidenceView, ProviderObject } from '../../console/key-detail'
import { OperatorRecord } from '../../console/record-view'
import { STATES } from '../../idempotency/states'
import { incompletenessOf, RESOLUTIONS } from '../../reconciliation/resolve'
import { KEY, order } from '../openapi-examples'
import { operatorRecord } from '../openapi-operator-examples'
import { operatorCall } from '../operator-call'
import { PROBLEMS } from '../problem'
import { isStorable } from '../validate'

const RECORD = /^idem_[0-9a-z]{26}$/
const MAX_INT4 = 2 ** 31 - 1

export const reasonOf = (min: number) =>
  z
    .string()
    .trim()
    .min(min)
    .max(2000)
    .refine(isStorable, 'has a NUL or a lone surrogate')
    .meta({ description: 'Why, for the audit log' })

/** The bodies that several calls take. */
export const Reasoned = z.strictObject({ reason: reasonOf(1) }).meta({ id: 'Reasoned', description: 'Why it is done' })
export const MaybeReasoned = z
  .strictObject({ reason: reasonOf(1).optional() })
  .meta({ id: 'MaybeReasoned', description: 'Why it is done, if there is more to say than that it is' })

const Version = z
  .int()
  .min(0)
  .max(MAX_INT4)
  .meta({ description: 'Of the record that you decide about, as you loaded it' })
const Decision = z
  .strictObject({ reason: reasonOf(1), version: Version })
  .meta({ id: 'Decision', description: 'What is decided about a record as it was loaded, and why' })
const ProviderRef = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
const Resolution = z.enum(RESOLUTIONS)
export const AcceptedMoney = z.strictObject({
  amountCents: z.int().min(1),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code'),
})

const REF = order.payment!.providerRef

const common = { tag: 'Operators: keys', params: { id: RECORD } }

export const reconcileKey = operatorCall({
  ...common,
  method: 'POST',
  path: '/api/admin/keys/{id}/reconcile',
  operationId: 'reconcileKey',
  summary: 'Ask the provider about a key now',
  description:
    'Settles the key where the provider’s answer is proof. Of a key whose outcome is known it reports what the ' +
    'provider says and changes nothing. Nor does an ask without an answer: it does not count as a look-up, and ' +
    '`reconcileAfter` stays. At most once a second for each key.',
  role: 'operator',
  body: MaybeReasoned,
  bodyExample: { reason: 'the customer is on the phone' },
  answer: {
    status: 200,
    description: 'What the provider says, what the key is now, and all evidence that is stored for it.',
    schema: z.object({
      verdict: z.enum(['succeeded', 'declined', 'not_found', 'pending', 'unreachable', 'unfinished']).meta({
        description:
          '`unfinished`: the provider’s list could not be read to its end in the time of one look-up, and nothing was ' +
          'found so far. The next look-up goes on where this one stopped.',
      }),
      state: z.enum(STATES),
      ref: z.string().nullable().meta({ description: 'The provider’s reference of what it found' }),
      object: ProviderObject.nullable(),
      evidence: z.array(EvidenceView),
    }),
    example: {
      verdict: 'succeeded',
      state: 'completed',
      ref: REF,
      object: { amountCents: order.amountCents, currency: order.currency, createdAt: order.createdAt },
      evidence: [],
    },
  },
  problems: ['nothing_to_ask', 'rate_limited'],
  does: (services) => services.reconcileKey,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})

export const resolveKey = operatorCall({
  ...common,
  method: 'POST',
  path: '/api/admin/keys/{id}/resolve',
  operationId: 'resolveKey',
  summary: 'Decide what became of a key',
  description:
    'For a key whose outcome is unknown, where you know it from elsewhere, such as the provider’s own dashboard. The ' +
    'provider is asked once more, by the key and by the reference: where it can be reached, it has to agree, also about ' +
    'the money, unless you accept what it moved. The key’s client then gets the answer that ' +
    'it would have had; a request that was not executed may be run again.',
  role: 'operator',
  body: z
    .strictObject({
      verdict: Resolution,
      providerRef: ProviderRef.optional().meta({
        description: 'The provider’s reference; required with `succeeded`, and none with `not_executed`',
      }),
      accept: AcceptedMoney.optional().meta({
        description:
          'With `succeeded`, where the provider moved other money than the key asked for: its own amount and currency, ' +
          'which are booked as such. The discrepancy stays open',
      }),
      reason: reasonOf(10),
      version: Version,
    })
    .superRefine((decision, ctx) => {
      for (const { path, message } of incompletenessOf(decision)?.issues ?? [])
        ctx.addIssue({ code: 'custom', path: [path], message })
    }),
  bodyExample: {
    verdict: 'succeeded',
    providerRef: REF,
    reason: 'The charge is in the provider’s dashboard.',
    version: 3,
  },
  answer: { status: 200, description: 'The record as it is now.', schema: OperatorRecord, example: operatorRecord },
  problems: [
    'changed_since_loaded',
    'not_resolvable',
    'settle_window_open',
    'contradicts_provider',
    'provider_ref_taken',
  ],
  does: (services) => services.resolveKey,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})

export const previewResolution = operatorCall({
  ...common,
  method: 'GET',
  path: '/api/admin/keys/{id}/resolve-preview',
  operationId: 'previewResolution',
  summary: 'See what a decision would do',
  description: 'What the next request with the key would get, and what would become of its order or refund.',
  role: 'viewer',
  query: z.strictObject({
    verdict: Resolution.meta({ description: 'As for the decision' }),
    providerRef: z
      .union([ProviderRef, z.literal('').transform(() => undefined)])
      .optional()
      .meta({ type: 'string', description: 'As for the decision' }),
  }),
  answer: {
    status: 200,
    description: 'What would happen.',
    schema: z
      .object({
        allowed: z.boolean().meta({ description: 'As far as that can be said without asking the provider' }),
        refusal: z.object({ code: z.string(), detail: z.string() }).nullable().meta({ description: 'Why not' }),
        replay: z
          .object({ status: z.int(), headers: z.record(z.string(), z.string()), body: z.string() })
          .nullable()
          .meta({
            description:
              'What is replayed, but for what is drawn when it is stored, such as `payment.id`, and for `note` and `reason`, ' +
              'which are masked',
          }),
        runsAgain: z
          .enum(['client', 'worker', 'nobody'])
          .nullable()
          .meta({ description: 'With `not_executed`: whose business the next attempt is' }),
        affected: z.array(
          z.object({
            type: z.enum(['order', 'refund']),
            id: z.string(),
            from: z.string().meta({ description: 'Its status now' }),
            to: z.string().meta({ description: 'Its status then' }),
            givesBackCents: z.int().optional().meta({ description: 'What a refund held of its order, free again' }),
          }),
        ),
        keptSeconds: z.number().nullable().meta({ description: 'For how long the key is kept from then on' }),
      })
      .meta({ id: 'ResolutionPreview', description: 'What a decision would do' }),
    example: {
      allowed: true,
      refusal: null,
      replay: {
        status: 201,
        headers: {
          'content-type': 'application/json',
          location: `/api/orders/${order.id}`,
          'idempotency-key': `"${KEY}"`,
          'idempotent-replayed': 'true',
        },
        body: JSON.stringify(order),
      },
      runsAgain: null,
      affected: [{ type: 'order', id: order.id, from: 'pending_payment', to: 'paid' }],
      keptSeconds: 86_400,
    },
  },
  does: (services) => services.previewResolution,
  input: ({ params, query }) => ({ id: params.id!, ...query }),
  present({ refusal, ...preview }) {
    const issue = refusal?.issues?.[0]
    const detail =
      refusal && (issue ? `${issue.path} ${issue.message}` : (refusal.detail ?? PROBLEMS[refusal.refused].detail))
    return { allowed: refusal === null, refusal: refusal && { code: refusal.refused, detail }, ...preview }
  },
})

export const runKeyAgain = operatorCall({
  ...common,
  method: 'POST',
  path: '/api/admin/keys/{id}/run-again',
  operationId: 'runKeyAgain',
  summary: 'Run an accepted key again now',
  description:
    'For an asynchronous key that is `failed_retryable`: a worker gets it at once. A worker runs such a key again by ' +
    'itself until its creation plus its retention; after that it is a dead letter until it expires, and this is the ' +
    'way to run it once more.',
  role: 'operator',
  body: Decision,
  bodyExample: { reason: 'The provider is back.', version: 4 },
  answer: {
    status: 200,
    description: 'The record as it is now.',
    schema: OperatorRecord,
    example: operatorRecord,
  },
  problems: ['changed_since_loaded', 'not_runnable'],
  does: (services) => services.runKeyAgain,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})

export const resumeKey = operatorCall({
  ...common,
  method: 'POST',
  path: '/api/admin/keys/{id}/resume',
  operationId: 'resumeKey',
  summary: 'Look a dead letter up again',
  description:
    'For a dead-lettered key whose outcome is unknown: it is looked up by schedule again, from the first interval. ' +
    'Dead letters resume by themselves when the provider answers look-ups again after an outage, except ' +
    'those whose `lastErrorCode` is `amount_differs` or `restored_differs`.',
  role: 'operator',
  body: Decision,
  bodyExample: { reason: 'The provider has corrected its index.', version: 4 },
  answer: {
    status: 200,
    description: 'The record as it is now.',
    schema: OperatorRecord,
    example: operatorRecord,
  },
  problems: ['changed_since_loaded', 'not_dead_lettered'],
  does: (services) => services.resumeKey,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})

export const expireKey = operatorCall({
  ...common,
  method: 'POST',
  path: '/api/admin/keys/{id}/expire',
  operationId: 'expireKey',
  summary: 'Expire a key before its time',
  description:
    'Of a completed key, or of one that is proven not executed. The stored request and answer are erased, and every ' +
    'further request with the key gets 410.',
  role: 'operator',
  body: Decision,
  bodyExample: { reason: 'The tenant asked for its data to be erased.', version: 4 },
  answer: {
    status: 200,
    description: 'The record as it is now.',
    schema: OperatorRecord,
    example: operatorRecord,
  },
  problems: ['changed_since_loaded', 'not_expirable'],
  does: (services) => services.expireKey,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})
