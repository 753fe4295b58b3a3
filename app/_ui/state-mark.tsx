// A state as it always looks: coloured icon, ink word. The tinted badge is for the head of a key's own page only.
import clsx from 'clsx'
import type { State } from '../../lib/idempotency/states'
import { LOOKS } from './state'

export function StateMark({ state, className }: { state: State; className?: string }) {
  const { icon: Icon, word, text } = LOOKS[state]
  return (
    <span className={clsx('inline-flex items-center gap-1.5 whitespace-nowrap', className)}>
      <Icon size={14} aria-hidden className={clsx('shrink-0', text)} />
      {word}
    </span>
  )
}

export function StateBadge({ state }: { state: State }) {
  const { icon: Icon, word, text, tint } = LOOKS[state]
  return (
    <span className={clsx('inline-flex items-center gap-1.5 rounded-1 px-2 py-1 text-12 font-semibold', tint, text)}>
      <Icon size={14} aria-hidden />
      {word}
    </span>
  )
}
