'use client'
// Why. Goes into the audit log, so it is asked for wherever something is decided.
import { TextArea } from './field'
import { count } from './words'

const LONGEST_REASON = 2000

interface ReasonFieldProps {
  value: string
  onChange(value: string): void
  error?: string | null
  autoFocus?: boolean
}

export function ReasonField({ value, onChange, error, autoFocus }: ReasonFieldProps) {
  return (
    <TextArea
      label="Reason"
      value={value}
      maxLength={LONGEST_REASON}
      autoFocus={autoFocus}
      error={error}
      onChange={(event) => onChange(event.target.value)}
      hint={
        <span className="flex justify-between gap-4">
          <span>Goes into the audit log.</span>
          <span>
            {count(value.length)} of {count(LONGEST_REASON)}
          </span>
        </span>
      }
    />
  )
}
