// Answers that the domain stores. How a problem is worded and which status it has is http's business: the domain
// names it and is given the bytes.
import type { Answer } from '../idempotency/operation'

export type StoredProblem =
  | 'payment_declined'
  | 'request_expired'
  | 'order_not_found'
  | 'order_not_refundable'
  | 'refund_exceeds_order'

export type ProblemAnswer = (code: StoredProblem) => Answer

export function json(status: number, body: unknown, headers: { location: string }): Answer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}
