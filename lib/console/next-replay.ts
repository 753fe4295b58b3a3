// What a client that retries right now, with the same body, would get. The record decides as it does for a request; what
// can't be known before it happens is said instead of guessed.
import { z } from 'zod'
import { decide } from '../idempotency/decide'
import type { KeyRecord } from '../idempotency/record'
import type { Outcome } from '../idempotency/run'

export const NextReplay = z
  .object({
    kind: z.enum(['answered', 'runs', 'settles']).meta({
      description:
        '`answered`: with exactly this. `runs`: nothing was executed, so the retry claims the key and runs the request ' +
        'again. `settles`: evidence of the outcome is stored, and the retry settles the key with it first. With the ' +
        'last two there is nothing yet that could be shown, and the rest is null',
    }),
    status: z.int().nullable(),
    headers: z
      .record(z.string(), z.string())
      .nullable()
      .meta({ description: 'In small letters, without those that every answer has' }),
    body: z
      .string()
      .nullable()
      .meta({ description: 'The body as text: its very bytes, but for `note` and `reason`, which are masked' }),
    code: z.string().nullable().meta({ description: 'Of a problem' }),
    retry: z
      .object({ sameKey: z.boolean(), newKey: z.boolean(), afterSeconds: z.int().nullable() })
      .nullable()
      .meta({ description: 'Of a problem: what a machine should do next' }),
  })
  .meta({ id: 'NextReplay', description: 'What a client that retries now would get' })
export type NextReplay = z.infer<typeof NextReplay>

export type Next =
  | { kind: 'answered'; outcome: Outcome }
  /** Its tenant is disabled: whatever the record says, nobody gets as far as that. */
  | { kind: 'refused' }
  | { kind: 'runs' }
  | { kind: 'settles' }

export interface Prospect {
  record: KeyRecord
  /** The phase that it is in may have called the provider. */
  external: boolean
  /** Somebody learned of the outcome and it is kept. */
  hasEvidence: boolean
  tenantDisabled: boolean
}

export function nextOf({ record, external, hasEvidence, tenantDisabled }: Prospect): Next {
  if (tenantDisabled) return { kind: 'refused' }
  const answered = (outcome: Outcome): Next => ({ kind: 'answered', outcome })
  switch (decide(record, record.fingerprint)) {
    case 'expired':
      return answered({ kind: 'expired', record })
    case 'unknown':
      return answered({ kind: 'unknown', record })
    case 'running':
      return answered(record.async ? { kind: 'accepted', record, created: false } : { kind: 'in_progress', record })
    case 'replay':
      return answered({
        kind: 'answered',
        answer: record.answer!,
        replayed: true,
        expiresAt: record.expiresAt,
        created: false,
        source: record,
      })
    case 'lease_over': {
      if (hasEvidence) return { kind: 'settles' }
      const over: KeyRecord = external
        ? { ...record, state: 'unknown', reconcileInMs: 0 }
        : { ...record, state: 'failed_retryable' }
      return nextOf({ record: { ...over, leaseLeftMs: null }, external, hasEvidence, tenantDisabled })
    }
    case 'settle_by_evidence':
      return { kind: 'settles' }
    case 'claim':
      return { kind: 'runs' }
    case 'misuse':
      throw new Error('a record differs from itself')
  }
}
