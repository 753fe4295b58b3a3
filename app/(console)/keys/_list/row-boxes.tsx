'use client'
// The checkboxes: of a row, and of the page. Shift takes everything since the last one along.
import { Check, Minus } from 'lucide-react'
import { type ComponentProps, useEffect, useRef } from 'react'

interface BoxProps extends Omit<ComponentProps<'input'>, 'type' | 'className'> {
  label: string
  mixed?: boolean
}

/** Larger to the finger than to the eye. */
function Box({ label, mixed = false, ...rest }: BoxProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current) input.current.indeterminate = mixed
  }, [mixed])
  return (
    <label className="relative -m-1.5 inline-flex cursor-pointer p-1.5 align-middle">
      <input
        ref={input}
        type="checkbox"
        aria-label={label}
        className="peer size-3.5 cursor-pointer appearance-none rounded-1 border border-line-control bg-bg checked:border-ink checked:bg-ink indeterminate:border-ink indeterminate:bg-ink"
        {...rest}
      />
      {mixed ? (
        <Minus size={10} strokeWidth={3} aria-hidden className={mark} />
      ) : (
        <Check size={10} strokeWidth={3} aria-hidden className={mark} />
      )}
    </label>
  )
}

const mark =
  'pointer-events-none absolute top-1/2 left-1/2 hidden -translate-1/2 text-on-ink peer-checked:block peer-indeterminate:block'

interface RowBoxProps {
  name: string
  checked: boolean
  onToggle(event: unknown): void
}

export const RowBox = ({ name, checked, onToggle }: RowBoxProps) => (
  <Box label={`Select ${name}`} checked={checked} onChange={onToggle} />
)

interface PageBoxProps {
  all: boolean
  some: boolean
  onToggle(event: unknown): void
}

export const PageBox = ({ all, some, onToggle }: PageBoxProps) => (
  <Box label="Select all on this page" checked={all} mixed={some && !all} onChange={onToggle} />
)
