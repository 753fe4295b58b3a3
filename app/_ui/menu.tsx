'use client'
// A menu on a button. Items are links, actions, or checkboxes that leave it open.
import clsx from 'clsx'
import { Check } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { ComponentProps, ReactNode } from 'react'

const item =
  'flex cursor-pointer items-center gap-2 rounded-1 px-2 py-1.5 text-13 text-text no-underline outline-none select-none ' +
  'data-highlighted:bg-selected data-disabled:cursor-not-allowed data-disabled:text-text-3'

export function Menu({
  trigger,
  children,
  align = 'end',
}: {
  trigger: ReactNode
  children: ReactNode
  align?: 'start' | 'end'
}) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 max-h-[60vh] min-w-44 overflow-y-auto rounded-3 border border-line-strong bg-raised p-1 shadow-2"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

export const MenuItem = ({ className, ...rest }: ComponentProps<typeof DropdownMenu.Item>) => (
  <DropdownMenu.Item className={clsx(item, className)} {...rest} />
)

export const MenuCheck = ({ children, ...rest }: ComponentProps<typeof DropdownMenu.CheckboxItem>) => (
  <DropdownMenu.CheckboxItem className={clsx(item, 'pl-7')} onSelect={(event) => event.preventDefault()} {...rest}>
    <DropdownMenu.ItemIndicator className="-ml-5 flex w-3 shrink-0">
      <Check size={14} aria-hidden />
    </DropdownMenu.ItemIndicator>
    {children}
  </DropdownMenu.CheckboxItem>
)

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <DropdownMenu.Label className="px-2 pt-2 pb-1 text-12 text-text-2">{children}</DropdownMenu.Label>
)

export const MenuLine = () => <DropdownMenu.Separator className="my-1 h-px bg-line" />
