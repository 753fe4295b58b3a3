// What a client does after a problem, as answers to the questions that its author has. What every problem with the same
// `retry` has in common is in its words; here is what differs, and whether money may have moved.
import { PROBLEMS, type ProblemCode } from '../../../lib/http/problem'
import { operations } from './document'
import { RETRY_WORDS } from './retry-words'

export interface NextStep {
  again: string
  key: string
  when: string
  /** Null for what only operators get: their calls charge nobody. */
  charged: string | null
}

type Own = Partial<Omit<NextStep, 'charged'>> & { charged: string }

const NOTHING = 'No. Nothing was stored.'
const FINDS_OUT = 'Perhaps. The same key finds out; a new one could charge twice.'
const READS = 'A read charges nothing.'

const OWN: Partial<Record<ProblemCode, Own>> = {
  idempotency_key_missing: {
    again: 'Yes, with a key.',
    key: 'One that you make and store before you send it.',
    when: 'As soon as it has one.',
    charged: NOTHING,
  },
  idempotency_key_invalid: {
    again: 'Yes, with a key that is one.',
    key: 'A new one. Whatever this was, it never was a key.',
    when: 'As soon as it is mended.',
    charged: NOTHING,
  },
  malformed_json: { charged: NOTHING },
  body_too_large: { charged: NOTHING },
  unsupported_media_type: { charged: NOTHING },
  invalid_request: { charged: NOTHING },
  request_too_old: {
    again: 'With a Date. If it is old, look the key up first.',
    key: 'The same.',
    charged: 'Not by this try. What an earlier one did, the look-up of the key tells.',
  },
  unauthenticated: {
    again: 'Not as it is: mend the API key first.',
    key: 'The same. It was not looked at.',
    charged: 'Not by this try.',
  },
  idempotency_key_reused: {
    again: 'No. It is a bug: have a person look.',
    key: 'For a retry the same, with the first body. For something new, a new one.',
    when: 'Once the bug is mended.',
    charged: 'Not by this try. The key’s first request has an outcome of its own.',
  },
  idempotency_key_in_progress: { charged: 'It is being done right now, by the first request.' },
  idempotency_outcome_unknown: {
    when: 'After Retry-After seconds, which can be minutes, for as long as it takes.',
    charged: FINDS_OUT,
  },
  idempotency_key_expired: {
    again: 'No. Read the resource first.',
    key: 'A new one, and only if the resource shows that it is still wanted.',
    when: 'Once somebody has looked.',
    charged: 'By the first request, where response.status is 201. Otherwise not.',
  },
  payment_declined: {
    again: 'Not by itself. The same request is declined again.',
    key: 'A new one, for another payment method.',
    when: 'When the customer chose one.',
    charged: 'No.',
  },
  order_not_found: { charged: 'No.' },
  order_not_refundable: { charged: 'No. Nothing was given back.' },
  refund_exceeds_order: { charged: 'No. Nothing was given back.' },
  request_expired: { charged: 'No, and nothing will be.' },
  payment_provider_unavailable: { charged: 'No. That is proven.' },
  payment_outcome_unknown: { charged: FINDS_OUT },
  idempotency_store_unavailable: { charged: 'Not by this try. If an earlier one did, the same key finds out.' },
  restore_in_progress: { charged: 'Not by this try. If an earlier one did, the same key finds out.' },
  rate_limited: { charged: NOTHING },
  active_key_limit: { charged: NOTHING },
  internal_error: { charged: FINDS_OUT },
  idempotency_key_not_found: {
    again: 'The look-up: no. The request itself: yes, if it is recent and got no answer.',
    key: 'The same.',
    when: 'Now.',
    charged: 'Nothing is known of this key: no, unless it was deleted long after it expired.',
  },
  refund_not_found: { charged: READS },
}

export function nextStep(code: ProblemCode): NextStep {
  const { again, key, when } = RETRY_WORDS[PROBLEMS[code].retry]
  return { again, key, when, charged: null, ...OWN[code] }
}

const CLIENT_PATHS = /^\/api\/(orders|idempotency-keys)\b/

/** The problems of the client API, which all say whether anything was charged. */
export const CLIENT_CODES: ReadonlySet<ProblemCode> = new Set(
  operations
    .filter(({ path }) => CLIENT_PATHS.test(path))
    .flatMap(({ answers }) => answers.flatMap(({ codes }) => codes)),
)
