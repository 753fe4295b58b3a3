// What `retry` says, in words, beside the JSON that says it.
import { type PROBLEMS, type ProblemCode, type Retry, retryOf } from '../../../lib/http/problem'

export type Advice = (typeof PROBLEMS)[ProblemCode]['retry']

export const RETRY_WORDS: Record<Advice, { short: string; does: string; why: string }> = {
  later: {
    short: 'same key, later',
    does: 'Wait as long as it says, then send the same request with the same key.',
    why: 'The key still stands for this request. A new one could do the work twice.',
  },
  same: {
    short: 'same key',
    does: 'Mend the request and send it with the same key.',
    why: 'Nothing was stored: the key is still free.',
  },
  new: {
    short: 'new key',
    does: 'If it is still wanted, send it with a new key.',
    why: 'This key can’t get another answer, or is none.',
  },
  none: {
    short: 'none',
    does: 'Don’t send it again. Look first.',
    why: 'No key makes this request right, or a new one would do the work again.',
  },
}

export const ADVICES = Object.keys(RETRY_WORDS) as Advice[]

export const retryExample = (advice: Advice): Retry => retryOf(advice)
