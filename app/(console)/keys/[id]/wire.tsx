// An answer in a well. Long lines wrap: nothing of it hides behind an edge.
import clsx from 'clsx'
import { readable } from './_words/json'
import type { WireText } from './_words/wire'

interface WireProps {
  wire: WireText
  label: string
  asSent?: boolean
  /** In a dialog, beside other things: then it scrolls. */
  narrow?: boolean
}

export function Wire({ wire, label, asSent = false, narrow = false }: WireProps) {
  return (
    <figure aria-label={label} className={clsx('rounded-2 border border-line', narrow ? 'bg-bg' : 'bg-sunken')}>
      <pre
        // what scrolls has to be reached without a mouse
        tabIndex={narrow ? 0 : undefined}
        className={clsx(
          'px-3.5 py-3 text-12 leading-[19px] whitespace-pre-wrap [overflow-wrap:anywhere]',
          narrow && 'wide:max-h-[280px] wide:overflow-y-auto',
        )}
      >
        <strong className="font-semibold">{wire.status}</strong>
        {'\n'}
        {wire.headers.map(([name, value]) => (
          <span key={name} className="text-text-2">
            {`${name}: ${value}\n`}
          </span>
        ))}
        {'\n'}
        <span data-body>{asSent ? wire.body : readable(wire.body, narrow ? 40 : 64)}</span>
      </pre>
    </figure>
  )
}
