'use client'
// Filters that live in the URL: a link shows a colleague the same. A choice applies at once, a text with Enter or when
// it is left. A filter that is changed begins at the first page again.
import clsx from 'clsx'
import { usePathname, useRouter } from 'next/navigation'
import { useId, useRef, useTransition } from 'react'
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

const control =
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
      // What the URL says is what the fields say, also after going back.
      key={JSON.stringify(filters.map(({ value }) => value))}
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
          <Labelled key={filter.name} label={filter.label} className="w-40">
            {(id) => (
              <select
                id={id}
                name={filter.name}
                defaultValue={filter.value}
                className={control}
                onChange={() => form.current?.requestSubmit()}
              >
                {filter.options.map(({ value, label }) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        ) : (
          <Labelled key={filter.name} label={filter.label} className="w-52">
            {(id) => (
              <>
                <input
                  id={id}
                  name={filter.name}
                  defaultValue={filter.value}
                  placeholder={filter.placeholder}
                  className={control}
                  autoComplete="off"
                  spellCheck={false}
                  list={filter.known && `${id}-known`}
                  onBlur={(event) => event.target.value.trim() !== filter.value && form.current?.requestSubmit()}
                />
                {filter.known && (
                  <datalist id={`${id}-known`}>
                    {filter.known.map((value) => (
                      <option key={value} value={value} />
                    ))}
                  </datalist>
                )}
              </>
            )}
          </Labelled>
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
