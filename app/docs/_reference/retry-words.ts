// What `retry` says, in words, beside the JSON that says it.
import { type PROBLEMS, type ProblemCode, type Retry, retryOf } from '../../../lib/http/problem'

export type Advice = (typeof PROBLEMS)[ProblemCode]['retry']

interface RetryWords {
  short: string
  does: string
  why: string
  /** The same as answers to three questions, unless a problem answers them better itself. */
  again: string
  key: string
  when: string
}

export const RETRY_WORDS: Record<Advice, RetryWords> = {
  later: {
    short: 'same key, later',
    does: 'Wait as long as it says, then send the same request with the same key. A program does this by itself.',
    why: 'The key still stands for this request. A new one could do the work twice.',
    again: 'Yes, by itself.',
    key: 'The same.',
    when: 'After Retry-After seconds, and a random part of a growing delay.',
  },
  same: {
    short: 'same key',
    does: 'Mend the request and send it with the same key. Unmended it would be refused again.',
    why: 'Nothing was stored: the key is still free.',
    again: 'Not as it is: mend it first.',
    key: 'The same. It is still free.',
    when: 'As soon as it is mended.',
  },
  new: {
    short: 'new key',
    does: 'This key is done with. Somebody decides whether anything new is to happen; that has a new key. Never in a loop.',
    why: 'This key can’t get another answer, or is none. A program that makes keys by itself can charge twice.',
    again: 'Not by itself. The same request gets the same answer.',
    key: 'A new one, for what is newly decided.',
    when: 'Once somebody has decided it.',
  },
  none: {
    short: 'none',
    does: 'Don’t send it again. Look first.',
    why: 'No key makes this request right, or a new one would do the work again.',
    again: 'No. Look first.',
    key: 'None makes it right.',
    when: 'Not at all, as it is.',
  },
}

export const ADVICES = Object.keys(RETRY_WORDS) as Advice[]

export const retryExample = (advice: Advice): Retry => retryOf(advice)
