// Rows under hairlines, 34 high, numbers to the right. The classes of every table; under 720 px the caller shows lines
// instead of columns.
import clsx from 'clsx'
import type { ComponentProps } from 'react'

export const Table = ({ className, ...rest }: ComponentProps<'table'>) => (
  <table className={clsx('w-full border-collapse text-left', className)} {...rest} />
)

export const Th = ({ className, number, ...rest }: ComponentProps<'th'> & { number?: boolean }) => (
  <th
    scope="col"
    className={clsx(
      'h-8 border-b border-line-strong pr-4 text-12 font-medium whitespace-nowrap text-text-2 last:pr-0',
      number ? 'text-right' : 'text-left',
      className,
    )}
    {...rest}
  />
)

export const Td = ({
  className,
  number,
  mono,
  ...rest
}: ComponentProps<'td'> & { number?: boolean; mono?: boolean }) => (
  <td
    className={clsx(
      'h-[34px] border-b border-line py-1.5 pr-4 last:pr-0',
      number && 'text-right whitespace-nowrap',
      mono && 'font-mono text-12',
      className,
    )}
    {...rest}
  />
)
