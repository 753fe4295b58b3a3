'use client'
// A dialog on the page that asked for it: title, what it is about, a way out. Escape and the scrim close it; what was
// typed is the caller's to keep.
import clsx from 'clsx'
import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { Button } from './button'

interface DialogProps {
  open: boolean
  onOpenChange(open: boolean): void
  title: string
  /** One line under the title. */
  about?: ReactNode
  /** The two-sided one: form left, consequences right. */
  wide?: boolean
  /** Only its own buttons close it: what it shows can't be had again. */
  held?: boolean
  children: ReactNode
  /** Left of the buttons at the foot. */
  note?: ReactNode
  buttons: ReactNode
}

export function Dialog({ open, onOpenChange, title, about, wide, held, children, note, buttons }: DialogProps) {
  const opener = useOpener(open)
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-scrim" />
        <Radix.Content
          {...(about ? {} : { 'aria-describedby': undefined })}
          onEscapeKeyDown={(event) => held && event.preventDefault()}
          onInteractOutside={(event) => held && event.preventDefault()}
          // Whoever was opened from a menu has to say again where the focus belongs: the menu took it while it closed.
          onOpenAutoFocus={(event) => {
            const wanted = (event.target as HTMLElement).querySelector<HTMLElement>('[data-autofocus]')
            if (wanted) event.preventDefault()
            wanted?.focus()
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault()
            opener?.focus()
          }}
          className={clsx(
            'fixed inset-x-0 top-[max(16px,8vh)] z-50 mx-auto flex max-h-[min(84vh,calc(100dvh-32px))] flex-col',
            'w-[calc(100vw-32px)] overflow-hidden rounded-3 border border-line-strong bg-raised shadow-3',
            wide ? 'max-w-[920px]' : 'max-w-[520px]',
          )}
        >
          <header className="flex items-start gap-4 border-b border-line px-5 py-4">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-16 font-semibold">{title}</Radix.Title>
              {about && (
                <Radix.Description asChild>
                  <div className="mt-0.5 text-12 text-text-2 [overflow-wrap:anywhere]">{about}</div>
                </Radix.Description>
              )}
            </div>
            <Radix.Close asChild>
              <Button kind="quiet" size="icon" aria-label="Close">
                <X size={16} aria-hidden />
              </Button>
            </Radix.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
          <footer className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line px-5 py-3">
            <div className="min-w-0 flex-1 text-12 text-text-2">{note}</div>
            <div className="flex gap-2">{buttons}</div>
          </footer>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** What had the focus when the dialog opened, which gets it back. An item of a menu is gone by then: its button is not. */
function useOpener(open: boolean): HTMLElement | null {
  const [opener, setOpener] = useState<HTMLElement | null>(null)
  const [before, setBefore] = useState(false)
  if (open !== before) {
    setBefore(open)
    if (open) setOpener(focused())
  }
  return opener
}

function focused(): HTMLElement | null {
  const menu = document.activeElement?.closest('[role="menu"]')
  const element = menu ? document.querySelector(`[aria-controls="${menu.id}"]`) : document.activeElement
  return element instanceof HTMLElement ? element : null
}
