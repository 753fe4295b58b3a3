// One look-up as a small box: what it said, as a sign and for readers as a word.
import clsx from 'clsx'

interface Sign {
  sign: string
  word: string
  /** It decided. */
  strong?: boolean
}

const SIGNS: Record<string, Sign> = {
  unreachable: { sign: '×', word: 'unreachable' },
  pending: { sign: '…', word: 'not decided' },
  too_early: { sign: '∅', word: 'nothing yet' },
  unfinished: { sign: '→', word: 'being continued' },
  not_found: { sign: '∅', word: 'nothing there', strong: true },
  declined: { sign: '−', word: 'declined', strong: true },
  succeeded: { sign: '✓', word: 'found', strong: true },
}

export const signOf = (verdict: string): Sign => SIGNS[verdict] ?? { sign: '?', word: verdict }

export function LookUpBox({ verdict }: { verdict: string | null }) {
  const look = verdict === null ? null : signOf(verdict)
  return (
    <span
      className={clsx(
        'flex size-4 items-center justify-center rounded-1 border text-11 leading-none',
        look?.strong ? 'border-ink bg-ink text-on-ink' : look ? 'border-line-control bg-sunken' : 'border-line-control',
      )}
    >
      {look && (
        <>
          <span aria-hidden>{look.sign}</span>
          <span className="sr-only">{look.word}</span>
        </>
      )}
    </span>
  )
}
