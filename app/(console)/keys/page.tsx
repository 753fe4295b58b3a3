// Keys: find and list records. The frame is there at once; the rows, the counts on the tabs and the number of matches
// come when they come, each in its place.
import type { Metadata } from 'next'
import { cookies } from 'next/headers'
import { Suspense } from 'react'
import { printSearch } from '../../../lib/console/search-text'
import { answer } from '../_shell/answer'
import { PageHeader } from '../_shell/header'
import { HIDDEN_COOKIE, readHidden } from './_list/column-names'
import { HeaderParts } from './_list/header-parts'
import { HelpDialog } from './_list/help-dialog'
import { ListProvider } from './_list/list-state'
import { type Params, readView } from './_list/read-view'
import { Rows } from './_list/rows'
import { RowsShape } from './_list/rows-shape'
import { SearchBox } from './_list/search-box'
import { type Counts, StateTabs } from './_list/state-tabs'
import type { View } from './_list/view'

export const metadata: Metadata = { title: 'Keys' }

export default async function Keys({ searchParams }: { searchParams: Promise<Params> }) {
  // A reader without a session goes to the sign-in before any part begins. A database that is away is each part's to show.
  await answer(async () => null)
  const read = readView(await searchParams)
  const hidden = readHidden((await cookies()).get(HIDDEN_COOKIE)?.value)
  const counts = countsOf(read.view)
  return (
    <ListProvider filterText={printSearch(read.view.filter)} hidden={hidden}>
      <PageHeader title="Keys">
        <HeaderParts view={read.view} />
      </PageHeader>
      <SearchBox view={read.view} text={read.text} issue={read.issue} />
      <StateTabs view={read.view} counts={counts} />
      <Suspense fallback={<RowsShape />}>
        <Rows read={read} counts={counts} />
      </Suspense>
      <HelpDialog />
    </ListProvider>
  )
}

/** Of the tenant and the endpoint that are looked at: a tab says what it would show. */
async function countsOf({ filter: { tenant, endpoint } }: View): Counts {
  const counted = await answer(({ call, services }) => services.countStates(call, { tenant, endpoint }))
  return counted.ok ? counted.value : null
}
