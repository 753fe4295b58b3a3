'use client'
// What can be done with the rows that are selected. It docks below the table, and says that updates wait.
import { Pause } from 'lucide-react'
import { Suspense, use, useState } from 'react'
import type { BulkActionName } from '../../../../lib/maintenance/bulk-action'
import { Button } from '../../../_ui/button'
import { MenuItem } from '../../../_ui/menu'
import { count } from '../../../_ui/words'
import { BulkDialog } from './bulk-dialog'
import { BULK_WORDS } from './bulk-words'
import { useList } from './list-state'
import { fitsInRun, type Matches } from './matches'
import { TakeAway } from './take-away'
import type { View } from './view'

const OFFERED: readonly BulkActionName[] = ['reconcile', 'run-again', 'resume', 'expire']

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
  const { selection, allMatching, selectAllMatching, news } = useList()
  const [action, setAction] = useState<BulkActionName | null>(null)
  const picked = Object.keys(selection)
  const many = allMatching && matches ? matches.count : picked.length
  const keys = allMatching ? { filter: view.filter } : { ids: picked }
  const elsewhere = allMatching ? 0 : picked.filter((id) => !ids.includes(id)).length
  const others = !allMatching && matches ? matches : null
  return (
    <>
      <p className="font-semibold" role="status">
        {count(many)} selected
        {elsewhere > 0 && <span className="font-normal text-text-2">, {count(elsewhere)} on other pages</span>}
      </p>
      {others && <SelectAll matches={others} onSelect={() => selectAllMatching(ids)} />}
      <span aria-hidden className="h-5 w-px bg-line-strong max-wide:hidden" />
      <div className="flex flex-wrap gap-2">
        {OFFERED.map((name) => (
          <Button
            key={name}
            onClick={() => !forbidden && setAction(name)}
            aria-disabled={forbidden ? true : undefined}
            aria-describedby={forbidden ? 'selection-forbidden' : undefined}
          >
            {BULK_WORDS[name].button}
            {name === 'reconcile' ? '' : '…'}
          </Button>
        ))}
        <TakeAway keys={keys}>
          {others && fitsInRun(others) && (
            <MenuItem onSelect={() => selectAllMatching(ids)}>Select all {count(others.count)} that match</MenuItem>
          )}
        </TakeAway>
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
      <BulkDialog action={action} onClose={() => setAction(null)} view={view} keys={keys} many={many} />
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
