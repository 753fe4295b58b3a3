// A state as it always looks: coloured icon, ink word. Typed by the list of states, so a new one breaks the build and
// not a reader.
import type { State } from '../../lib/idempotency/states'
import { Icon, type IconName } from './icon'
import styles from './state-mark.module.css'

const MARKS: Record<State, { icon: IconName; word: string; colour: string }> = {
  pending: { icon: 'circle-dashed', word: 'Pending', colour: 'var(--st-pending)' },
  in_progress: { icon: 'loader', word: 'In progress', colour: 'var(--st-in_progress)' },
  completed: { icon: 'circle-check', word: 'Completed', colour: 'var(--st-completed)' },
  failed_retryable: { icon: 'rotate-ccw', word: 'Failed, retryable', colour: 'var(--st-failed)' },
  unknown: { icon: 'circle-question-mark', word: 'Unknown', colour: 'var(--st-unknown)' },
  expired: { icon: 'archive', word: 'Expired', colour: 'var(--st-expired)' },
}

export function StateMark({ state }: { state: State }) {
  const { icon, word, colour } = MARKS[state]
  return (
    <span className={styles.mark}>
      <span className={styles.icon} style={{ color: colour }}>
        <Icon name={icon} />
      </span>
      {word}
    </span>
  )
}
