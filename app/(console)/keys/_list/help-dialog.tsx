'use client'
// What the keyboard does here, and what the search box understands. The keys that work without any row are heard here.
import { useEffect, useState } from 'react'
import { Button } from '../../../_ui/button'
import { Dialog } from '../../../_ui/dialog'
import { FOCUS_SEARCH, OPEN_HELP } from './events'
import { useShortcuts } from './use-shortcuts'

const KEYS: readonly [keys: readonly string[], does: string][] = [
  [['/'], 'Search'],
  [['j'], 'Next row'],
  [['k'], 'Row before'],
  [['x'], 'Select the row'],
  [['Shift', 'click'], 'Select all since the last one'],
  [['Enter'], 'Open the key'],
  [['Esc'], 'Clear the selection'],
  [['Ctrl', 'K'], 'Jump to any page or key'],
  [['?'], 'This list'],
]

const WORDS: readonly [text: string, means: string][] = [
  ['8e03978e-40d5', 'How a key, record, order, refund, reference or request id begins'],
  ['"two words"', 'The same, with spaces or a colon in it'],
  ['state:unknown,pending', 'In one of these states'],
  ['tenant:acme', 'Of this tenant'],
  ['endpoint:refunds', 'Of an endpoint with this in its name'],
  ['error:timeout', 'With this in its last error'],
  ['age:>10m age:<1d', 'Older than that, younger than that; s, m, h, d, w'],
  ['order:ord_01…', 'Of this order and its refunds'],
  ['ref:sbx_ch_…', 'Of this reference of the provider'],
  ['dead', 'Waits for a person'],
  ['from:2026-11-16T14:00Z', 'Created then or later; to: for before'],
]

export function HelpDialog() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const show = () => setOpen(true)
    document.addEventListener(OPEN_HELP, show)
    return () => document.removeEventListener(OPEN_HELP, show)
  }, [])
  useShortcuts((event) => {
    if (event.key === '?') setOpen(true)
    if (event.key !== '/') return
    event.preventDefault()
    document.dispatchEvent(new Event(FOCUS_SEARCH))
  })
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      title="Keyboard and search"
      buttons={<Button onClick={() => setOpen(false)}>Close</Button>}
    >
      <div className="grid gap-5 px-5 py-4">
        <dl aria-label="Keyboard" className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
          {KEYS.map(([keys, does]) => (
            <div key={does} className="contents">
              <dt className="flex gap-1">
                {keys.map((key) => (
                  <kbd key={key} className="rounded-1 border border-line-strong px-1.5 font-sans text-12">
                    {key}
                  </kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <dl aria-label="Search" className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 border-t border-line pt-4">
          {WORDS.map(([text, means]) => (
            <div key={text} className="contents">
              <dt className="font-mono text-12">{text}</dt>
              <dd className="text-text-2">{means}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  )
}
