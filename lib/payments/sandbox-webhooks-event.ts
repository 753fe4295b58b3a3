// The sandbox's webhooks, both ends of them: what it sends about an entry, and what a receiver makes of that. A body
// counts only with a good signature, and is not read before.

import { z } from 'zod'
import type { ProviderEvent } from './gateway'
import type { DueReport } from './sandbox-webhooks-outbox'
import { verifySignature } from './webhook-signature'

export const SANDBOX_SIGNATURE_HEADER = 'sandbox-signature'
const TOLERANCE_SECONDS = 300

/** Text that PostgreSQL can store. */
const text = z
  .string()
  .min(1)
  .max(255)
  .refine((value) => !value.includes('\0') && value.isWellFormed(), 'must be well-formed text without NUL')

const KINDS = ['charge', 'refund'] as const
const STATUSES = ['succeeded', 'failed'] as const
const TYPES = ['charge.succeeded', 'charge.failed', 'refund.succeeded', 'refund.failed'] as const

export const SandboxEvent = z
  .object({
    id: text,
    type: z.enum(TYPES),
    createdAt: z.iso.datetime(),
    data: z.object({
      ref: text,
      providerKey: text,
      kind: z.enum(KINDS),
      status: z.enum(STATUSES),
      amountCents: z.int().positive(),
      currency: z.string().regex(/^[A-Z]{3}$/),
      orderId: text,
      customerId: text,
    }),
  })
  .refine(({ type, data }) => type === `${data.kind}.${data.status}`, {
    path: ['type'],
    message: 'must be what data.kind and data.status say',
  })
  .meta({ id: 'SandboxEvent', description: 'A charge or a refund that the sandbox booked' })
export type SandboxEvent = z.infer<typeof SandboxEvent>

export function eventOf(report: DueReport): SandboxEvent {
  const { id, ref, providerKey, kind, status, amountCents, currency, orderId, customerId, bookedAt } = report
  return {
    id,
    type: `${kind}.${status}`,
    createdAt: bookedAt.toISOString(),
    data: { ref, providerKey, kind, status, amountCents, currency, orderId, customerId },
  }
}

export type ParsedSandboxEvent =
  | { kind: 'bad_signature' }
  | { kind: 'invalid'; issues: { path: string; message: string }[] }
  /** `event` is null for what is genuine and of no concern. */
  | { kind: 'genuine'; event: ProviderEvent | null }

export function parseSandboxEvent(
  rawBody: string,
  signatureHeader: string | null,
  secret: string,
  nowMs: number,
): ParsedSandboxEvent {
  if (!verifySignature(rawBody, signatureHeader, secret, TOLERANCE_SECONDS, nowMs)) return { kind: 'bad_signature' }
  const body = parseJson(rawBody)
  // A type of a later day is nothing to complain about.
  const typed = z.object({ type: z.string() }).safeParse(body)
  if (typed.success && !TYPES.some((type) => type === typed.data.type)) return { kind: 'genuine', event: null }
  const parsed = SandboxEvent.safeParse(body)
  if (!parsed.success)
    return {
      kind: 'invalid',
      issues: parsed.error.issues.map(({ path, message }) => ({ path: z.core.toDotPath(path), message })),
    }
  const { id, data } = parsed.data
  const { ref: providerRef, kind: effect, amountCents, currency, orderId, providerKey } = data
  const kind = data.status === 'succeeded' ? 'succeeded' : 'declined'
  const outcome = { kind, providerRef, effect, amountCents, currency, orderId } as const
  return { kind: 'genuine', event: { id, providerKey, outcome } }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
