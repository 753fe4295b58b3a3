'use client'
// Filters that live in the URL: a link shows a colleague the same. A choice applies at once, a text with Enter or when
// it is left. A filter that is changed begins at the first page again.
import clsx from 'clsx'
import { usePathname, useRouter } from 'next/navigation'
import { type RefObject, useEffect, useId, useRef, useTransition } from 'react'
import { Button } from './button'

interface Choice {
  name: string
  label: string
  value: string
  /** The first one is the one without a filter. */
  options: readonly { value: string; label: string }[]
}

interface Text {
  name: string
  label: string
  value: string
  placeholder?: string
  /** What it may be completed to. */
  known?: readonly string[]
}

export type Filter = Choice | Text

const look =
  'min-h-[30px] w-full rounded-2 border border-line-control bg-bg px-2.5 py-1 text-13 text-text placeholder:text-text-3'

/** `kept` stays in the URL whatever is filtered. */
export function FilterBar({ filters, kept = {} }: { filters: readonly Filter[]; kept?: Record<string, string> }) {
  const router = useRouter()
  const path = usePathname()
  const form = useRef<HTMLFormElement>(null)
  const [applying, start] = useTransition()
  const filtered = filters.some(({ value }) => value !== '')

  function go(values: Iterable<[string, FormDataEntryValue]>) {
    const query = new URLSearchParams(kept)
    for (const [name, value] of values) if (typeof value === 'string' && value.trim()) query.set(name, value.trim())
    const search = query.toString()
    start(() => router.push(search ? `${path}?${search}` : path, { scroll: false }))
  }

  return (
    <form
      ref={form}
      aria-label="Filter"
      aria-busy={applying || undefined}
      className="flex flex-wrap items-end gap-x-3 gap-y-2 py-3"
      onSubmit={(event) => {
        event.preventDefault()
        go(new FormData(event.currentTarget))
      }}
    >
      {filters.map((filter) =>
        'options' in filter ? (
          <ChoiceFilter key={filter.name} form={form} {...filter} />
        ) : (
          <TextFilter key={filter.name} form={form} {...filter} />
        ),
      )}
      <Button type="submit" className="sr-only">
        Apply
      </Button>
      {filtered && (
        <Button kind="quiet" onClick={() => go([])}>
          Clear
        </Button>
      )}
    </form>
  )
}

type InForm = { form: RefObject<HTMLFormElement | null> }

function ChoiceFilter({ form, name, label, value, options }: Choice & InForm) {
  const control = useShown<HTMLSelectElement>(value)
  return (
    <Labelled label={label} className="w-40">
      {(id) => (
        <select
          ref={control}
          id={id}
          name={name}
          defaultValue={value}
          className={look}
          onChange={() => form.current?.requestSubmit()}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  )
}

function TextFilter({ form, name, label, value, placeholder, known }: Text & InForm) {
  const control = useShown<HTMLInputElement>(value)
  return (
    <Labelled label={label} className="w-52">
      {(id) => (
        <>
          <input
            ref={control}
            id={id}
            name={name}
            defaultValue={value}
            placeholder={placeholder}
            className={look}
            autoComplete="off"
            spellCheck={false}
            list={known && `${id}-known`}
            onBlur={(event) => event.target.value.trim() !== value && form.current?.requestSubmit()}
          />
          {known && (
            <datalist id={`${id}-known`}>
              {known.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  )
}

/**
 * What the URL says is what the control says, also after going back; but what a reader has begun to change while
 * another filter's rows were on their way stays theirs, and so does the focus.
 */
function useShown<Control extends HTMLInputElement | HTMLSelectElement>(value: string) {
  const control = useRef<Control>(null)
  const shown = useRef(value)
  useEffect(() => {
    const { current } = control
    const isBeingChanged = current === document.activeElement && current?.value.trim() !== shown.current
    if (current && !isBeingChanged) current.value = value
    shown.current = value
  }, [value])
  return control
}

function Labelled({
  label,
  className,
  children,
}: {
  label: string
  className: string
  children(id: string): React.ReactNode
}) {
  const id = useId()
  return (
    <div className={clsx('grid gap-1 max-wide:w-[calc(50%-6px)]', className)}>
      <label htmlFor={id} className="text-12 text-text-2">
        {label}
      </label>
      {children(id)}
    </div>
  )
}
