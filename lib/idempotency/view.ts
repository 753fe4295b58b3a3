// A record as its own client may see it.
import { z } from 'zod'
import type { KeyRecord } from './record'
import { STATES } from './states'

/** An attempt is over in a moment as a rule; the worker takes up an accepted request at once. */
const RUNNING_AFTER_SECONDS = 1
/** No look-up is scheduled: a person has to decide, which takes longer than a client should keep asking. */
const DEAD_LETTER_AFTER_SECONDS = 300

export const ClientRecord = z
  .object({
    key: z.string().meta({ description: 'The key, unquoted' }),
    endpoint: z
      .string()
      .meta({ description: 'Where it was sent: method and route template', example: 'POST /api/orders' }),
    state: z.enum(STATES).meta({ description: 'What the same request gets now follows from it' }),
    createdAt: z.iso.datetime().meta({ description: 'When the first request came, in UTC' }),
    completedAt: z.iso.datetime().nullable().meta({ description: 'When the answer was stored; null until then' }),
    expiresAt: z.iso.datetime().meta({
      description: 'From then on the key gets 410. An outcome that is not known does not expire, whatever this says',
    }),
    retryAfterSeconds: z
      .int()
      .nullable()
      .meta({ description: 'When to come back; null where there is nothing to wait for' }),
    response: z
      .object({ status: z.int().meta({ description: 'Of the stored answer' }) })
      .nullable()
      .meta({ description: 'How it was answered; null until it is. Send the same request to get the answer itself' }),
    resource: z
      .object({
        type: z.string().meta({ description: '`order` or `refund`' }),
        id: z.string().meta({ description: 'Its id, to read it by' }),
      })
      .nullable()
      .meta({ description: 'What the request made, or is making' }),
  })
  .meta({ id: 'IdempotencyRecord', description: 'What is known of a key' })

export function toClientRecord(record: KeyRecord): z.infer<typeof ClientRecord> {
  return {
    key: record.key,
    endpoint: record.endpoint,
    state: record.state,
    createdAt: record.createdAt.toISOString(),
    completedAt: record.completedAt?.toISOString() ?? null,
    expiresAt: record.expiresAt.toISOString(),
    retryAfterSeconds: retryAfterSeconds(record),
    response: record.responseStatus === null ? null : { status: record.responseStatus },
    resource: record.resource,
  }
}

export function retryAfterSeconds(record: KeyRecord): number | null {
  switch (record.state) {
    case 'pending':
    case 'in_progress':
    case 'failed_retryable':
      return RUNNING_AFTER_SECONDS
    case 'unknown':
      if (record.reconcileInMs === null) return DEAD_LETTER_AFTER_SECONDS
      if (record.beingAsked) return RUNNING_AFTER_SECONDS
      return Math.max(RUNNING_AFTER_SECONDS, Math.ceil(record.reconcileInMs / 1000))
    case 'completed':
    case 'expired':
      return null
  }
}
