// Every problem that a client can be answered with: status, words, and what a machine should do next. Status codes
// live here only. `type` leads to a page of the product's own reference, made from this same table.

import { OPERATOR_PROBLEMS } from './problem-operator'

export interface Retry {
  sameKey: boolean
  newKey: boolean
  afterSeconds: number | null
}

export type Advice = 'new' | 'same' | 'later' | 'none'

export interface ProblemType {
  status: number
  title: string
  detail: string
  retry: Advice
  /** What to do about it, for the reference. */
  advice: string
}

export const PROBLEMS = {
  idempotency_key_missing: {
    status: 400,
    title: 'Idempotency-Key is missing',
    detail: 'This request needs an Idempotency-Key header of 16 to 255 characters.',
    retry: 'new',
    advice:
      'Make one key for each thing that you want done once, store it, and send it with every try. Nothing was stored.',
  },
  idempotency_key_invalid: {
    status: 400,
    title: 'Idempotency-Key is not valid',
    detail: 'The Idempotency-Key header could not be read.',
    retry: 'new',
    advice:
      'Send a quoted structured-field String or a bare token of 16 to 255 characters, best a random UUID. Nothing was stored.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    detail: 'The body could not be read as JSON in UTF-8.',
    retry: 'same',
    advice: 'Mend the body. Nothing was stored: the key is still free.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    detail: 'A body may have at most 256 KiB.',
    retry: 'same',
    advice: 'Send less. Nothing was stored: the key is still free.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The media type is not supported',
    detail: 'Send the body as application/json.',
    retry: 'same',
    advice: 'Set Content-Type: application/json. Nothing was stored: the key is still free.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not valid',
    detail: 'The request was understood, but it breaks the rules listed in issues.',
    retry: 'same',
    advice: 'Read issues, mend the request, and send it again. Nothing was stored: the key is still free.',
  },
  malformed_request: {
    status: 400,
    title: 'The request is not valid HTTP',
    detail: 'The request line, a header, the framing of the body, or the Host header breaks the rules of HTTP/1.1.',
    retry: 'same',
    advice: 'Mend the client, or the proxy in between. Nothing was stored: the key is still free.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    detail: 'The request line and all headers together may have at most 16 KiB.',
    retry: 'same',
    advice: 'Send fewer or shorter headers. Nothing was stored: the key is still free.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    detail: 'Headers and body have to arrive as a whole within 30 seconds.',
    retry: 'same',
    advice: 'Send the same request with the same key again, on a new connection. Nothing was stored.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed here',
    detail: 'This address does not support the method of the request.',
    retry: 'none',
    advice: 'Use one of the methods that the Allow header lists.',
  },
  invalid_signature: {
    status: 400,
    title: 'The signature is not valid',
    detail: 'The webhook is not signed with our secret, was changed on its way, or was signed too long ago.',
    retry: 'none',
    advice: 'For payment providers: sign the body as it is sent, with the secret of this endpoint, when it is sent.',
  },
  request_too_old: {
    status: 400,
    title: 'The request is too old',
    detail:
      'This service refuses requests whose Date header is missing, too far in the past, or more than five minutes ahead.',
    retry: 'same',
    advice:
      'Send as Date when the key was made. If that is too long ago, look the key up first. Where it is known, a current Date gets its answer; where it is not, it may have been forgotten, and the request would be carried out again.',
  },
  unauthenticated: {
    status: 401,
    title: 'Not authenticated',
    detail: 'Send a valid API key as Authorization: Bearer.',
    retry: 'same',
    advice:
      'Check the API key: it may be missing, mistyped or revoked. Then send the same request with the same key: the idempotency key was not looked at.',
  },
  forbidden: {
    status: 403,
    title: 'Not allowed',
    detail: 'Your role may not do this.',
    retry: 'none',
    advice: 'Ask somebody whose role may.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    detail: 'There is nothing at this address.',
    retry: 'none',
    advice: 'Check the address against the API reference.',
  },
  idempotency_key_not_found: {
    status: 404,
    title: 'No such key',
    detail: 'There is no record of this key for this endpoint.',
    retry: 'none',
    advice:
      'No request with this key was accepted at this endpoint, or it was deleted long after it expired. If your first try got no answer and is recent, send it again with the same key.',
  },
  refund_not_found: {
    status: 404,
    title: 'No such refund',
    detail: 'There is no such refund of this order.',
    retry: 'none',
    advice: 'Check both ids.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The key was used for another request',
    detail: 'This key was first sent with a request that differs from this one.',
    retry: 'new',
    advice:
      'This is a bug in the program that sends it, so have a person look and let no program go on with a new key: if a retry was meant, a new key does the work a second time. For a retry, send exactly what was sent first; for something new, make its key where the new thing begins. Usual causes: a body that is built anew for each try, a key that belongs to a session or a customer instead of one purchase.',
  },
  idempotency_key_in_progress: {
    status: 409,
    title: 'The first request is still running',
    detail: 'A request with this key is being worked on. Its answer will be replayed to you once there is one.',
    retry: 'later',
    advice: 'Send the same request with the same key again after Retry-After, or wait for it with Prefer: wait=N.',
  },
  idempotency_outcome_unknown: {
    status: 409,
    title: 'The outcome is not known yet',
    detail: 'The first request may have been executed. It is being found out; nothing runs again meanwhile.',
    retry: 'later',
    advice: 'Keep the key and try again after Retry-After. Never make a new key for this: it could charge twice.',
  },
  idempotency_key_expired: {
    status: 410,
    title: 'The key has expired',
    detail: 'The answer to this key is not kept any more. Look at the resource before you decide anything.',
    retry: 'none',
    advice:
      'Read resource to see what the first request did, and response.status to see how it was answered: null means that nothing was charged. Only then decide whether to send something new, with a new key. A new key sent blindly would do it again.',
  },
  payment_declined: {
    status: 402,
    title: 'The payment was declined',
    detail: 'The provider declined the payment. Nothing was charged.',
    retry: 'new',
    advice:
      'This answer is final for this key, and every retry gets it. Tell the customer; another payment method is a new request with a new key.',
  },
  order_not_found: {
    status: 404,
    title: 'No such order',
    detail: 'There is no such order.',
    retry: 'new',
    advice:
      'Check the order id. To a refund this answer is final for its key: with another id it is another request, with a new key.',
  },
  order_not_refundable: {
    status: 409,
    title: 'The order can’t be refunded',
    detail: 'Only an order that was paid can be refunded.',
    retry: 'new',
    advice:
      'Look at the order’s status. This answer is final for this key: if the order can be refunded later, send the refund with a new key then.',
  },
  refund_exceeds_order: {
    status: 409,
    title: 'The refund is more than what is left',
    detail: 'What is left of the order, less what other refunds hold, is not enough.',
    retry: 'new',
    advice:
      'Look at the order’s amountCents and refundedCents; refunds whose outcome is not known yet hold their amount too. This answer is final for this key: a smaller refund needs a new one.',
  },
  request_expired: {
    status: 408,
    title: 'The request was abandoned',
    detail: 'The request was accepted, but nobody could run it in time. Nothing was charged, and nothing will be.',
    retry: 'new',
    advice: 'It is final for this key, and the order is abandoned. Send it with a new key, if it is still wanted.',
  },
  payment_provider_unavailable: {
    status: 503,
    title: 'The payment provider could not be reached',
    detail: 'It is proven that nothing was charged. The same key may be tried again.',
    retry: 'later',
    advice: 'Send the same request with the same key again after Retry-After. It runs again then.',
  },
  payment_outcome_unknown: {
    status: 504,
    title: 'The outcome of the payment is not known',
    detail: 'The provider did not answer clearly: the payment may have been executed. It is being found out.',
    retry: 'later',
    advice: 'Keep the key and ask again after Retry-After. Never make a new key for this: it could charge twice.',
  },
  idempotency_store_unavailable: {
    status: 503,
    title: 'The store is not available',
    detail: 'No work was done and the provider was not called.',
    retry: 'later',
    advice:
      'Send the same request with the same key again after Retry-After. An earlier try with this key may have been carried out; the same key finds that too.',
  },
  restore_in_progress: {
    status: 503,
    title: 'The service comes back from a backup',
    detail: 'It is being found out what was done since the backup was made. No new request begins before that.',
    retry: 'later',
    advice:
      'Nothing was stored. Send the same request with the same key again after Retry-After: if it was carried out before, that is found, and it is not carried out again. What the service still knows is answered as always.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    detail: 'Your limit of requests a minute is used up.',
    retry: 'later',
    advice:
      'Nothing was stored. Slow down all that is new, and send the same request with the same key again after Retry-After.',
  },
  active_key_limit: {
    status: 429,
    title: 'Too many live keys',
    detail: 'You have as many keys that are not expired as you may have.',
    retry: 'later',
    advice:
      'Nothing was stored. Wait for keys to expire, or ask for a higher limit or a shorter retention; then send the same request with the same key.',
  },
  ...OPERATOR_PROBLEMS,
  internal_error: {
    status: 500,
    title: 'Something is wrong on our side',
    detail: 'This was not stored as an answer. The same key may be tried again.',
    retry: 'later',
    advice:
      'Send the same request with the same key again after Retry-After, and tell us the x-request-id. It may have been carried out; the same key finds out.',
  },
} as const satisfies Record<string, ProblemType>

export type ProblemCode = keyof typeof PROBLEMS

export interface ProblemDetails {
  detail?: string
  /** Overrides the table's status, where the client asked for another one. */
  status?: number
  /** Overrides the table's advice: a 404 of a GET says nothing about keys. */
  retry?: Advice
  afterSeconds?: number
  issues?: { path: string; message: string }[]
  resource?: { type: string; id: string } | null
  response?: { status: number } | null
  /** With changed_since_loaded: what it is now. */
  current?: { state: string; version: number }
}

const DEFAULT_AFTER_SECONDS = 2

export function retryOf(advice: Advice, afterSeconds = DEFAULT_AFTER_SECONDS): Retry {
  return {
    sameKey: advice === 'same' || advice === 'later',
    newKey: advice === 'new',
    afterSeconds: advice === 'later' ? Math.max(1, Math.ceil(afterSeconds)) : null,
  }
}

export function problem(
  code: ProblemCode,
  more: ProblemDetails = {},
): { status: number; headers: Record<string, string>; body: string } {
  const type: ProblemType = PROBLEMS[code]
  const { detail, status = type.status, retry: advice, afterSeconds, ...members } = more
  const retry = retryOf(advice ?? type.retry, afterSeconds)
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  if (retry.afterSeconds !== null) headers['retry-after'] = String(retry.afterSeconds)
  if (type.status === 401) headers['www-authenticate'] = 'Bearer'
  return {
    status,
    headers,
    body: JSON.stringify({
      type: `/docs/problems/${code}`,
      title: type.title,
      status,
      detail: detail ?? type.detail,
      code,
      retry,
      ...members,
    }),
  }
}
