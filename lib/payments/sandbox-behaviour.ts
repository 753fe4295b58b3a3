// What the sandbox does is decided by the request's words and the number of the attempt alone. Pure.

import type { EffectKind } from './gateway'

export type Behaviour =
  | { kind: 'ok' }
  | { kind: 'declined' }
  | { kind: 'slow'; ms: number }
  | { kind: 'timeout_charged' }
  | { kind: 'timeout_lost_once' }
  | { kind: 'late_once'; ms: number }
  | { kind: 'refused_once' }
  | { kind: 'error_once' }
  | { kind: 'unreachable' }

export const SLOW_MAX_MS = 60_000

// Past every settle window that a demo would set, and far from where PostgreSQL's timestamps end.
export const LATE_MAX_MS = 86_400_000

interface Words {
  kind: EffectKind
  paymentMethod: string
  reason?: string | null
}

/** A charge is steered by its payment method, a refund by a reason such as `sandbox:timeout_charged`. */
export function behaviourOf(request: Words): Behaviour {
  const [prefix, words] = request.kind === 'charge' ? ['pm_', request.paymentMethod] : ['sandbox:', request.reason]
  return words?.startsWith(prefix) ? behaviourNamed(words.slice(prefix.length)) : { kind: 'ok' }
}

function behaviourNamed(name: string): Behaviour {
  switch (name) {
    case 'declined':
    case 'timeout_charged':
    case 'timeout_lost_once':
    case 'refused_once':
    case 'error_once':
    case 'unreachable':
      return { kind: name }
  }
  const slow = /^slow_(\d+)$/.exec(name)
  if (slow) return { kind: 'slow', ms: Math.min(Number(slow[1]), SLOW_MAX_MS) }
  const late = /^late_(\d+)_once$/.exec(name)
  if (late) return { kind: 'late_once', ms: Math.min(Number(late[1]), LATE_MAX_MS) }
  return { kind: 'ok' }
}

const OK = { kind: 'ok' } as const satisfies Behaviour

/** Whether the number of the attempt matters, so that it has to be counted. */
export function happensOnce(behaviour: Behaviour): boolean {
  return behaviour.kind.endsWith('_once')
}

/** How one attempt goes: whether it reaches the provider, what is booked there, and how the caller's wait ends. */
export type Course =
  | { reaches: false; ending: 'refused' | 'silence' }
  | {
      reaches: true
      status: 'succeeded' | 'failed'
      lateMs: number
      ending: 'answer' | 'silence' | 'error'
      answerMs: number
    }

const CHARGED = { reaches: true, status: 'succeeded', lateMs: 0, ending: 'answer', answerMs: 0 } as const

export function courseOf(named: Behaviour, attempt: number): Course {
  const behaviour = happensOnce(named) && attempt > 1 ? OK : named
  switch (behaviour.kind) {
    case 'ok':
      return CHARGED
    case 'declined':
      return { ...CHARGED, status: 'failed' }
    case 'slow':
      return { ...CHARGED, answerMs: behaviour.ms }
    case 'timeout_charged':
      return { ...CHARGED, ending: 'silence' }
    case 'late_once':
      return { ...CHARGED, lateMs: behaviour.ms, ending: 'silence' }
    case 'error_once':
      return { ...CHARGED, ending: 'error' }
    case 'refused_once':
      return { reaches: false, ending: 'refused' }
    case 'timeout_lost_once':
    case 'unreachable':
      return { reaches: false, ending: 'silence' }
  }
}
