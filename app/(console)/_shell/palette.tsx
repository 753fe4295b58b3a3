'use client'
// One box for everything: paste any id and land on its key, search as on the Keys page, or jump to a page. Ctrl-K or ⌘K
// from anywhere.
import { Command } from 'cmdk'
import { Search } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { parseSearch } from '../../../lib/console/search-text'
import { StateMark } from '../../_ui/state-mark'
import { Age } from '../../_ui/time'
import { type FoundKey, findKeys } from './find-keys'
import { ACCESS, WORK } from './pages'
import { OPEN_PALETTE } from './palette-event'

/** Long enough to mean something, and short enough for the first part of any id. */
const SHORTEST_SEARCH = 3
const TYPING_PAUSE_MS = 150
const SEARCH = 'search'

const row =
  'flex min-h-9 cursor-pointer items-center gap-3 rounded-2 px-3 text-13 data-[selected=true]:bg-selected data-[disabled=true]:text-text-3'

interface Found {
  /** What was asked. */
  of: string
  keys: FoundKey[]
  failed: boolean
}

export function Palette() {
  const [open, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [selected, setSelected] = useState('')
  const router = useRouter()
  useOpening(setOpen)

  const wanted = text.trim()
  const pages = [...WORK, ...ACCESS].filter(({ label }) => label.toLowerCase().includes(wanted.toLowerCase()))
  const found = useFound(wanted, (keys) => setSelected(keys[0]?.id ?? pages[0]?.href ?? SEARCH))

  function go(href: string, isPublic = false) {
    setOpen(false)
    setText('')
    if (isPublic) window.location.assign(href)
    else router.push(href)
  }

  return (
    <Command.Dialog
      open={open}
      onOpenChange={setOpen}
      shouldFilter={false}
      value={selected}
      onValueChange={setSelected}
      label="Jump to"
      overlayClassName="fixed inset-0 z-40 bg-scrim"
      contentClassName="fixed inset-x-0 top-[12vh] z-50 mx-auto w-[min(640px,calc(100vw-32px))] overflow-hidden rounded-3 border border-line-strong bg-raised shadow-3"
    >
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="Page, key, record, order, provider reference or request id"
        className="w-full border-b border-line bg-transparent px-4 py-3 text-14 outline-none placeholder:text-text-3"
      />
      <Command.List className="max-h-[50vh] overflow-y-auto p-1.5">
        {wanted.length >= SHORTEST_SEARCH && (
          <Group heading="Keys">
            {found?.keys.map((key) => (
              <Command.Item key={key.id} value={key.id} className={row} onSelect={() => go(`/keys/${key.id}`)}>
                <StateMark state={key.state} className="w-34 max-wide:w-4 max-wide:overflow-hidden" />
                <span className="min-w-0 flex-1 truncate font-mono text-12">{key.key}</span>
                <span className="max-w-32 truncate text-text-2 max-wide:hidden">{key.tenant}</span>
                <span className="w-24 text-right whitespace-nowrap text-text-2">
                  <Age since={key.createdAt} />
                </span>
              </Command.Item>
            ))}
            <Command.Item value={SEARCH} className={row} onSelect={() => go(`/keys?q=${encodeURIComponent(wanted)}`)}>
              <Search size={14} aria-hidden className="shrink-0 text-text-2" />
              {searchWords(wanted, found)}
            </Command.Item>
          </Group>
        )}
        {pages.length > 0 && (
          <Group heading="Pages">
            {pages.map(({ href, label, icon: Icon, isPublic }) => (
              <Command.Item key={href} value={href} className={row} onSelect={() => go(href, isPublic)}>
                <Icon size={14} aria-hidden className="text-text-2" />
                {label}
              </Command.Item>
            ))}
          </Group>
        )}
      </Command.List>
    </Command.Dialog>
  )
}

const Group = ({ heading, children }: { heading: string; children: ReactNode }) => (
  <Command.Group
    heading={heading}
    className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-12 [&_[cmdk-group-heading]]:text-text-2"
  >
    {children}
  </Command.Group>
)

function searchWords(wanted: string, found: Found | null): string {
  const search = parseSearch(wanted)
  if (!search.ok) return search.issue.message
  if (!found) return 'Looking…'
  if (found.failed) return 'The search could not be answered. Try it on the Keys page.'
  return found.keys.length > 0 ? 'All that match, on the Keys page' : 'Nothing matches. Search on the Keys page.'
}

/** By its key from anywhere, or by whoever asks for it. */
function useOpening(setOpen: (open: boolean | ((before: boolean) => boolean)) => void) {
  useEffect(() => {
    const show = () => setOpen(true)
    const toggle = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setOpen((before) => !before)
    }
    document.addEventListener(OPEN_PALETTE, show)
    document.addEventListener('keydown', toggle)
    return () => {
      document.removeEventListener(OPEN_PALETTE, show)
      document.removeEventListener('keydown', toggle)
    }
  }, [setOpen])
}

/** Null until what is wanted now has been answered. */
function useFound(wanted: string, onFound: (keys: FoundKey[]) => void): Found | null {
  const [found, setFound] = useState<Found>({ of: '', keys: [], failed: false })
  const latest = useRef('')
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is wanted asks again
  useEffect(() => {
    latest.current = wanted
    if (wanted.length < SHORTEST_SEARCH) return
    const timer = setTimeout(async () => {
      const answer = await findKeys(wanted).catch(() => null)
      // An answer to what is not asked any more is none.
      if (latest.current !== wanted) return
      const keys = answer?.ok ? answer.value : []
      setFound({ of: wanted, keys, failed: !answer?.ok })
      onFound(keys)
    }, TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [wanted])
  return found.of === wanted ? found : null
}
