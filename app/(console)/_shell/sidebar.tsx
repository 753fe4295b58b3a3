'use client'
// The sidebar, and under 720 px the same as a sheet behind a button. The page that one is on is marked, for eyes and
// for readers.
import clsx from 'clsx'
import { Menu as MenuIcon, Search, Server } from 'lucide-react'
import Link from 'next/link'
import { usePathname } from 'next/navigation'
import { Dialog } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { Button } from '../../_ui/button'
import { Logo } from '../../_ui/icons'
import { ACCESS, type Page, WORK } from './pages'
import { OPEN_PALETTE } from './palette-event'

interface SidebarProps {
  gateway: string
  version: string
  /** How many unknown keys wait, where there are any. */
  unknown: ReactNode
  person: ReactNode
}

export function Sidebar(props: SidebarProps) {
  return (
    <aside className="sticky top-0 hidden h-dvh w-52 shrink-0 flex-col border-r border-line bg-app wide:flex">
      <Inside {...props} />
    </aside>
  )
}

/** The button in the header of a narrow screen. */
export function SidebarSheet(props: SidebarProps) {
  const [open, setOpen] = useState(false)
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger asChild>
        <Button kind="quiet" size="icon" aria-label="Menu" className="-ml-2 wide:hidden">
          <MenuIcon size={18} aria-hidden />
        </Button>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-y-0 left-0 z-50 flex w-64 max-w-[85vw] flex-col border-r border-line bg-app shadow-3"
          onClick={(event) => (event.target as HTMLElement).closest('a') && setOpen(false)}
        >
          <Dialog.Title className="sr-only">Menu</Dialog.Title>
          <Inside {...props} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Inside({ gateway, version, unknown, person }: SidebarProps) {
  return (
    <>
      <Link href="/" className="flex h-13 items-center gap-2 px-4 text-14 font-semibold no-underline">
        <Logo />
        Onceover
      </Link>
      <PaletteButton />
      <nav aria-label="Main" className="flex-1 overflow-y-auto px-2">
        <Entries pages={WORK} beside={{ '/reconciliation': unknown }} />
        <hr className="mx-2 my-2.5 border-line" />
        <Entries pages={ACCESS} />
      </nav>
      <div className="px-4 py-3 text-12 text-text-2">
        <span className="flex items-center gap-2">
          <Server size={14} aria-hidden />
          {gateway}
        </span>
        <span className="pl-[22px] text-text-3">Onceover {version}</span>
      </div>
      {person && <div className="border-t border-line p-2">{person}</div>}
    </>
  )
}

function PaletteButton() {
  return (
    <button
      type="button"
      className="mx-2 mb-3 flex min-h-[30px] cursor-pointer items-center gap-2 rounded-2 border border-line-strong bg-bg px-2 text-13 text-text-2 hover:bg-hover"
      onClick={() => document.dispatchEvent(new Event(OPEN_PALETTE))}
    >
      <Search size={14} aria-hidden />
      Jump to
      <kbd className="ml-auto rounded-1 border border-line-strong px-1 font-sans text-11">Ctrl K</kbd>
    </button>
  )
}

interface EntriesProps {
  pages: readonly Page[]
  beside?: Record<string, ReactNode>
}

function Entries({ pages, beside = {} }: EntriesProps) {
  const path = usePathname()
  return (
    <ul className="grid list-none gap-px">
      {pages.map(({ href, label, icon: Icon, isPublic }) => {
        const Way = isPublic ? 'a' : Link
        const within = href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`)
        return (
          <li key={href}>
            <Way
              href={href}
              aria-current={path === href ? 'page' : within ? 'true' : undefined}
              className={clsx(
                'flex min-h-[30px] items-center gap-2.5 rounded-2 px-2 text-13 no-underline transition-colors duration-(--t-fast)',
                within ? 'bg-selected font-medium text-text' : 'text-text-2 hover:bg-hover hover:text-text',
              )}
            >
              <Icon size={14} aria-hidden />
              {label}
              {beside[href] && <span className="ml-auto text-12 font-normal text-text-2">{beside[href]}</span>}
            </Way>
          </li>
        )
      })}
    </ul>
  )
}
