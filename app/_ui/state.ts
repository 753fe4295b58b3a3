// How each state looks, everywhere: one colour, one icon, one word. Typed by the list of states, so a new one breaks
// the build and not an operator.
import { Archive, CircleCheck, CircleDashed, Loader, type LucideIcon, RotateCcw } from 'lucide-react'
import type { State } from '../../lib/idempotency/states'
import { SolidQuestion } from './icons'

interface Look {
  word: string
  icon: LucideIcon
  /** Tailwind's, spelled out: it reads the source for them. */
  text: string
  tint: string
  /** For drawings. */
  colour: string
}

export const LOOKS: Record<State, Look> = {
  pending: {
    word: 'Pending',
    icon: CircleDashed,
    text: 'text-pending',
    tint: 'bg-pending-tint',
    colour: 'var(--st-pending)',
  },
  in_progress: {
    word: 'In progress',
    icon: Loader,
    text: 'text-in_progress',
    tint: 'bg-in_progress-tint',
    colour: 'var(--st-in_progress)',
  },
  completed: {
    word: 'Completed',
    icon: CircleCheck,
    text: 'text-completed',
    tint: 'bg-completed-tint',
    colour: 'var(--st-completed)',
  },
  failed_retryable: {
    word: 'Failed, retryable',
    icon: RotateCcw,
    text: 'text-failed_retryable',
    tint: 'bg-failed_retryable-tint',
    colour: 'var(--st-failed)',
  },
  unknown: {
    word: 'Unknown',
    icon: SolidQuestion,
    text: 'text-unknown',
    tint: 'bg-unknown-tint',
    colour: 'var(--st-unknown)',
  },
  expired: {
    word: 'Expired',
    icon: Archive,
    text: 'text-expired',
    tint: 'bg-expired-tint',
    colour: 'var(--st-expired)',
  },
}
