'use client'
// The selected keys as a file, or their ids on the clipboard. Wide, each has its button; narrow, they share a menu.
import { Copy, Download, Ellipsis } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { KeyFilter } from '../../../../lib/console/keys-filter'
import { Button } from '../../../_ui/button'
import { Menu, MenuItem, MenuLabel, MenuLine } from '../../../_ui/menu'
import { useToast } from '../../../_ui/toast'
import { count, plural } from '../../../_ui/words'
import { pickIds } from './actions'
import { useList } from './list-state'
import { exportHref } from './view'

/** As many as the address of an export takes. */
const MOST_EXPORTED = 200

interface TakeAwayProps {
  keys: { filter: KeyFilter } | { ids: string[] }
  /** What else the narrow menu offers. */
  children: ReactNode
}

export function TakeAway({ keys, children }: TakeAwayProps) {
  const { clearSelection } = useList()
  const [failure, setFailure] = useState<string | null>(null)
  const tell = useToast()

  async function copy() {
    const found = 'ids' in keys ? { ok: true as const, value: keys.ids } : await pickIds(keys.filter)
    if (!found.ok) return setFailure(found.message)
    const copied = await navigator.clipboard?.writeText(found.value.join('\n')).then(
      () => true,
      () => false,
    )
    // Browsers give the clipboard only to https and localhost.
    setFailure(copied ? null : 'The browser does not give its clipboard to this page.')
    if (copied) tell(`${plural(found.value.length, 'id')} copied.`)
  }

  return (
    <>
      <Menu
        align="start"
        trigger={
          <Button className="max-wide:hidden">
            <Download size={14} aria-hidden />
            Export
          </Button>
        }
      >
        <Files keys={keys} />
      </Menu>
      <Button className="max-wide:hidden" onClick={copy}>
        <Copy size={14} aria-hidden />
        Copy ids
      </Button>
      <Button kind="quiet" className="max-wide:hidden" onClick={clearSelection}>
        Clear
        <kbd aria-hidden className="rounded-1 border border-line-strong px-1 font-sans text-11 text-text-2">
          Esc
        </kbd>
      </Button>
      <Menu
        trigger={
          <Button size="icon" aria-label="More" className="wide:hidden">
            <Ellipsis size={16} aria-hidden />
          </Button>
        }
      >
        {children}
        <MenuLabel>Export</MenuLabel>
        <Files keys={keys} />
        <MenuLine />
        <MenuItem onSelect={copy}>Copy ids</MenuItem>
        <MenuItem onSelect={clearSelection}>Clear</MenuItem>
      </Menu>
      {failure && (
        <span role="alert" className="self-center text-12 text-danger">
          {failure}
        </span>
      )}
    </>
  )
}

function Files({ keys }: Pick<TakeAwayProps, 'keys'>) {
  const tooMany = 'ids' in keys && keys.ids.length > MOST_EXPORTED
  if (tooMany) return <MenuItem disabled>At most {count(MOST_EXPORTED)} rows, or all that match</MenuItem>
  return (['csv', 'json'] as const).map((format) => (
    <MenuItem key={format} asChild>
      <a href={exportHref(format, keys)} download>
        {format.toUpperCase()}
      </a>
    </MenuItem>
  ))
}
