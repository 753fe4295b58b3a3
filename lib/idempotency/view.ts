// A record as its own client may see it.
import { z } from 'zod'
import type { KeyRecord } from './record'
import { STATES } from './states'

/** An attempt is over in a moment as a rule; the worker takes up an accepted request at once. */
const RUNNING_AFTER_SECONDS = 1

export const ClientRecord = z
  .object({
    key: z.string(),
    endpoint: z.string().meta({ example: 'POST /api/orders' }),
    state: z.enum(STATES),
    createdAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
    expiresAt: z.iso.datetime(),
    retryAfterSeconds: z.int().nullable().meta({ description: 'null where there is nothing to wait for' }),
    response: z.object({ status: z.int() }).nullable(),
    resource: z.object({ type: z.string(), id: z.string() }).nullable(),
  })
  .meta({ id: 'IdempotencyRecord' })

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
      return Math.max(RUNNING_AFTER_SECONDS, Math.ceil((record.reconcileInMs ?? 0) / 1000))
    case 'completed':
    case 'expired':
      return null
  }
}
