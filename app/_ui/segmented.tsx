'use client'
// A choice of few, side by side: one is on. As links where the choice lives in the URL, as buttons where it does not.
import clsx from 'clsx'
import Link from 'next/link'

interface Option {
  value: string
  label: string
  href?: string
}

interface SegmentedProps {
  label: string
  value: string
  options: readonly Option[]
  onChange?(value: string): void
}

const cell = (on: boolean) =>
  clsx(
    'flex min-h-[28px] cursor-pointer items-center px-2.5 text-13 no-underline first:rounded-l-[4px] last:rounded-r-[4px]',
    'not-first:border-l not-first:border-line-strong focus-visible:z-10',
    on ? 'bg-selected font-medium text-text' : 'text-text-2 hover:bg-hover hover:text-text',
  )

export function Segmented({ label, value, options, onChange }: SegmentedProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms; this is a row of links or switches
    <div role="group" aria-label={label} className="flex shrink-0 rounded-2 border border-line-strong">
      {options.map((option) => {
        const on = option.value === value
        return option.href ? (
          <Link
            key={option.value}
            href={option.href}
            scroll={false}
            className={cell(on)}
            aria-current={on || undefined}
          >
            {option.label}
          </Link>
        ) : (
          <button
            key={option.value}
            type="button"
            className={cell(on)}
            aria-pressed={on}
            onClick={() => onChange?.(option.value)}
          >
            {option.label}
          </button>
        )
      })}
    </div>
  )
}
