'use client'
// What can be done with the rows that are selected. It docks below the table, and says that updates wait.
import { Copy, Download, Ellipsis, Pause } from 'lucide-react'
import { Suspense, use, useState } from 'react'
import { Button } from '../../../_ui/button'
import { Menu, MenuItem, MenuLabel, MenuLine } from '../../../_ui/menu'
import { useToast } from '../../../_ui/toast'
import { count, plural } from '../../../_ui/words'
import { pickIds } from './actions'
import { AskDialog } from './ask-dialog'
import { useList } from './list-state'
import { fitsInRun, type Matches } from './matches'
import { exportHref, type View } from './view'

/** As many as the address of an export takes. */
const MOST_EXPORTED = 200

interface SelectionBarProps {
  view: View
  /** Of the rows that are shown. */
  ids: readonly string[]
  matches: Promise<Matches | null>
  /** Why this reader may not act; null where they may. */
  forbidden: string | null
}

export function SelectionBar({ view, ids, matches, forbidden }: SelectionBarProps) {
  const { selection, allMatching } = useList()
  if (Object.keys(selection).length === 0 && !allMatching) return null
  return (
    <section
      aria-label="Selected keys"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 border-t-2 border-ink bg-bg px-(--gutter) py-2.5"
    >
      <Suspense fallback={<Selected view={view} ids={ids} matches={null} forbidden={forbidden} />}>
        <Counted view={view} ids={ids} matches={matches} forbidden={forbidden} />
      </Suspense>
    </section>
  )
}

const Counted = ({ matches, ...rest }: SelectionBarProps) => <Selected {...rest} matches={use(matches)} />

function Selected({ view, ids, matches, forbidden }: Omit<SelectionBarProps, 'matches'> & { matches: Matches | null }) {
  const { selection, allMatching, selectAllMatching, clearSelection, news } = useList()
  const [asking, setAsking] = useState(false)
  const [failure, setFailure] = useState<string | null>(null)
  const tell = useToast()
  const picked = Object.keys(selection)
  const many = allMatching && matches ? matches.count : picked.length
  const keys = allMatching ? { filter: view.filter } : { ids: picked }
  const elsewhere = allMatching ? 0 : picked.filter((id) => !ids.includes(id)).length
  const exportable = allMatching || picked.length <= MOST_EXPORTED

  async function copy() {
    const found = allMatching ? await pickIds(view.filter) : { ok: true as const, value: picked }
    if (!found.ok) return setFailure(found.message)
    const copied = await navigator.clipboard?.writeText(found.value.join('\n')).then(
      () => true,
      () => false,
    )
    // Browsers give the clipboard only to https and localhost.
    setFailure(copied ? null : 'The browser does not give its clipboard to this page.')
    if (copied) tell(`${plural(found.value.length, 'id')} copied.`)
  }

  const exports = (['csv', 'json'] as const).map((format) => (
    <MenuItem key={format} asChild disabled={!exportable}>
      <a href={exportHref(format, keys)} download>
        {exportable ? format.toUpperCase() : `${format.toUpperCase()}: at most ${count(MOST_EXPORTED)} rows`}
      </a>
    </MenuItem>
  ))

  return (
    <>
      <p className="font-semibold" role="status">
        {count(many)} selected
        {elsewhere > 0 && <span className="font-normal text-text-2">, {count(elsewhere)} on other pages</span>}
      </p>
      {!allMatching && matches && <SelectAll matches={matches} onSelect={() => selectAllMatching(ids)} />}
      <span aria-hidden className="h-5 w-px bg-line-strong max-wide:hidden" />
      <div className="flex gap-2 max-wide:ml-auto">
        <Button
          onClick={() => !forbidden && setAsking(true)}
          aria-disabled={forbidden ? true : undefined}
          aria-describedby={forbidden ? 'selection-forbidden' : undefined}
        >
          Ask the provider
        </Button>
        <Menu
          align="start"
          trigger={
            <Button className="max-wide:hidden">
              <Download size={14} aria-hidden />
              Export
            </Button>
          }
        >
          {exports}
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
          {!allMatching && matches && fitsInRun(matches) && (
            <MenuItem onSelect={() => selectAllMatching(ids)}>Select all {count(matches.count)} that match</MenuItem>
          )}
          <MenuLabel>Export</MenuLabel>
          {exports}
          <MenuLine />
          <MenuItem onSelect={copy}>Copy ids</MenuItem>
          <MenuItem onSelect={clearSelection}>Clear</MenuItem>
        </Menu>
      </div>
      <p className="ml-auto flex items-center gap-2 text-12 text-text-2 max-wide:hidden">
        <Pause size={14} aria-hidden />
        {news.fresh > 0 && `${count(news.fresh)} new. `}Updates wait while rows are selected.
      </p>
      {forbidden && (
        <p id="selection-forbidden" className="basis-full text-12 text-text-2">
          {forbidden}
        </p>
      )}
      {failure && (
        <p role="alert" className="basis-full text-12 text-danger">
          {failure}
        </p>
      )}
      <AskDialog open={asking} onOpenChange={setAsking} view={view} keys={keys} many={many} />
    </>
  )
}

function SelectAll({ matches, onSelect }: { matches: Matches; onSelect(): void }) {
  if (!fitsInRun(matches))
    return <span className="text-12 text-text-2 max-wide:hidden">More than 10,000 match: too many for one run</span>
  return (
    <button
      type="button"
      className="cursor-pointer underline decoration-line-control underline-offset-3 hover:decoration-current max-wide:hidden"
      onClick={onSelect}
    >
      Select all {count(matches.count)} that match
    </button>
  )
}
