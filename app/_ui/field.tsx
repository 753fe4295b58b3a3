// A labelled control with its hint and its error, tied together for readers.
import clsx from 'clsx'
import { type ComponentProps, type ReactNode, useId } from 'react'

const control =
  'w-full rounded-2 border border-line-control bg-bg px-2.5 py-1.5 text-13 text-text placeholder:text-text-3 ' +
  'aria-invalid:border-danger disabled:bg-sunken disabled:text-text-3'

interface Labelled {
  label: string
  hint?: ReactNode
  error?: string | null
}

function Shell({ id, label, hint, error, children }: Labelled & { id: string; children: ReactNode }) {
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="text-13 font-medium">
        {label}
      </label>
      {children}
      {error ? (
        <p id={`${id}-note`} className="text-12 text-danger" role="alert">
          {error}
        </p>
      ) : (
        hint && (
          <div id={`${id}-note`} className="text-12 text-text-2">
            {hint}
          </div>
        )
      )}
    </div>
  )
}

const described = (id: string, { hint, error }: Labelled) => ({
  'aria-invalid': error ? true : undefined,
  'aria-describedby': hint || error ? `${id}-note` : undefined,
})

export function TextField({ label, hint, error, className, ...rest }: Labelled & ComponentProps<'input'>) {
  const id = useId()
  return (
    <Shell id={id} label={label} hint={hint} error={error}>
      <input id={id} className={clsx(control, className)} {...described(id, { label, hint, error })} {...rest} />
    </Shell>
  )
}

export function TextArea({ label, hint, error, className, ...rest }: Labelled & ComponentProps<'textarea'>) {
  const id = useId()
  return (
    <Shell id={id} label={label} hint={hint} error={error}>
      <textarea
        id={id}
        rows={3}
        className={clsx(control, 'resize-y', className)}
        {...described(id, { label, hint, error })}
        {...rest}
      />
    </Shell>
  )
}

export function SelectField({ label, hint, error, className, ...rest }: Labelled & ComponentProps<'select'>) {
  const id = useId()
  return (
    <Shell id={id} label={label} hint={hint} error={error}>
      <select id={id} className={clsx(control, className)} {...described(id, { label, hint, error })} {...rest} />
    </Shell>
  )
}
