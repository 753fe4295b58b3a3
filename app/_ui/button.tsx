// Ink on neutral. One primary button a view; a destructive one looks like any other and says what it does.
import { cva, type VariantProps } from 'class-variance-authority'
import clsx from 'clsx'
import { Slot } from 'radix-ui'
import type { ComponentProps } from 'react'

const look = cva(
  'inline-flex shrink-0 cursor-pointer items-center justify-center gap-2 rounded-2 border text-13 font-medium ' +
    'whitespace-nowrap no-underline transition-colors duration-(--t-fast) select-none ' +
    'disabled:cursor-not-allowed disabled:border-line disabled:bg-sunken disabled:text-text-3 ' +
    'aria-disabled:cursor-not-allowed aria-disabled:border-line aria-disabled:bg-sunken aria-disabled:text-text-3',
  {
    variants: {
      kind: {
        plain: 'border-line-strong bg-bg text-text hover:bg-hover',
        primary: 'border-ink bg-ink text-on-ink hover:opacity-90',
        quiet: 'border-transparent bg-transparent text-text-2 hover:bg-hover hover:text-text',
      },
      size: { normal: 'min-h-[30px] px-3 py-1', icon: 'size-[30px] p-0', tall: 'min-h-9 px-4 py-1.5' },
    },
    defaultVariants: { kind: 'plain', size: 'normal' },
  },
)

export interface ButtonProps extends ComponentProps<'button'>, VariantProps<typeof look> {
  /** Looks like a button and is what it holds, such as a link. */
  asChild?: boolean
}

export function Button({ kind, size, asChild, className, type = 'button', ...rest }: ButtonProps) {
  const Element = asChild ? Slot.Root : 'button'
  return <Element className={clsx(look({ kind, size }), className)} {...(asChild ? {} : { type })} {...rest} />
}
