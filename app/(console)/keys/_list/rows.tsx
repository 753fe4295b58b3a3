// One page of the list, read where it is shown. That it can't be read is said in its place; the filter stays.

import { encodeCursor } from '../../../../lib/http/cursor'
import { isRefused } from '../../../../lib/operators/refusal'
import { mayAct } from '../../../../lib/operators/role'
import { Failure } from '../../../_ui/section'
import { answer } from '../../_shell/answer'
import { KeysTable } from './keys-table'
import type { Matches } from './matches'
import { NothingHere } from './nothing-here'
import { Paging } from './paging'
import type { ReadView } from './read-view'
import { RefreshButton } from './refresh-button'
import { RunPanel } from './run-panel'
import { SelectionBar } from './selection-bar'
import { type Counts, sumOf } from './state-tabs'
import { isFiltered, isFirstPage, NEWEST_FIRST, type View } from './view'

const ROWS = 50

export async function Rows({ read: { view, after, before }, counts }: { read: ReadView; counts: Counts }) {
  const matches = matchesOf(view, counts)
  const read = await answer(async ({ call, services }) => {
    const { filter, sort } = view
    const page = await services.seeKeys(call, { filter, sort, after, before, limit: ROWS })
    return isRefused(page) ? page : { ...page, role: call.actor.role }
  })
  if (!read.ok)
    return (
      <div className="px-(--gutter) py-5">
        <Failure action={<RefreshButton />}>
          The keys can’t be read: {read.code === 'unavailable' ? 'the database does not answer.' : read.message} Your
          filter stays.
        </Failure>
      </div>
    )
  const { rows, previous, next, at, role } = read.value
  const forbidden = mayAct(role, 'operator') ? null : `Asking the provider takes the role operator; yours is ${role}.`
  const first = rows[0]
  // Of a list that is newest first, what is above its first row is new; of any other, what came in since.
  const isNewest = view.sort === NEWEST_FIRST && isFirstPage(view) && first
  const since = isNewest ? { createdAt: first.createdAt, id: first.id } : { createdAt: at, id: '' }
  const ids = rows.map(({ id }) => id)
  return (
    <>
      {view.run && <RunPanel key={view.run} id={view.run} view={view} forbidden={forbidden} />}
      <KeysTable view={view} rows={rows} since={since} />
      {rows.length === 0 && <NothingHere view={view} />}
      <div className="max-wide:contents wide:sticky wide:bottom-0 wide:z-20 wide:mt-auto">
        <div className="max-wide:sticky max-wide:bottom-0 max-wide:z-20 max-wide:order-1">
          <SelectionBar view={view} ids={ids} matches={matches} forbidden={forbidden} />
        </div>
        <Paging
          view={view}
          previous={previous && encodeCursor(previous)}
          next={next && encodeCursor(next)}
          matches={matches}
        />
      </div>
    </>
  )
}

/** Nobody waits for it, and that it can't be told breaks nothing. */
async function matchesOf(view: View, counts: Counts): Promise<Matches | null> {
  if (!isFiltered(view)) {
    const all = await counts
    return all && { ...sumOf(all), more: false }
  }
  const counted = await answer(({ call, services }) => services.countKeys(call, { filter: view.filter }))
  return counted.ok ? { ...counted.value, estimated: false } : null
}
