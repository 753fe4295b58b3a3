import type { Metadata } from 'next'
import { Suspense } from 'react'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../../../../lib/http/cursor'
import { isStorable } from '../../../../lib/http/validate'
import type { RunCursor } from '../../../../lib/maintenance/run-history'
import { RUN_KINDS, RUN_STATES } from '../../../../lib/maintenance/runs'
import { FilterBar } from '../../../_ui/filter-bar'
import { Pages } from '../../../_ui/pages'
import { Empty } from '../../../_ui/section'
import { plural } from '../../../_ui/words'
import { answer } from '../../_shell/answer'
import { PageBody, PageHeader } from '../../_shell/header'
import { hrefOf, queryOf, type SearchParams } from '../../_shell/query'
import { Trail } from '../../_shell/trail'
import { Unread } from '../../_shell/unread'
import { DAEMON_WORDS } from '../daemon-words'
import { RunsTable } from '../runs-table'

export const metadata: Metadata = { title: 'Runs' }

const PATH = '/maintenance/runs'
const ROWS = 50

const Query = {
  kind: z.enum(RUN_KINDS),
  state: z.enum(RUN_STATES),
  by: z.enum(['people', 'schedule']),
  dry: z.enum(['true', 'false']),
  idle: z.literal('true'),
  cursor: z.string(),
}
type Asked = { [Name in keyof typeof Query]: string | undefined }

const Cursor = z.object({
  startedAt: z.iso.datetime().refine((at) => !at.startsWith('0000')),
  id: z.string().max(64).refine(isStorable),
}) satisfies z.ZodType<RunCursor>

export default async function Runs({ searchParams }: { searchParams: SearchParams }) {
  const query = await queryOf(Query, searchParams)
  return (
    <>
      <PageHeader trail={<Trail above={[{ href: '/maintenance', label: 'Maintenance' }]}>Runs</Trail>} />
      <PageBody>
        <Filters asked={query} />
        <Suspense key={JSON.stringify(query)} fallback={<div className="min-h-[60vh]" />}>
          <Found query={query} />
        </Suspense>
      </PageBody>
    </>
  )
}

function Filters({ asked }: { asked: Asked }) {
  return (
    <FilterBar
      filters={[
        {
          name: 'kind',
          label: 'Run',
          value: asked.kind ?? '',
          options: [
            { value: '', label: 'All' },
            ...RUN_KINDS.map((kind) => ({ value: kind, label: DAEMON_WORDS[kind].name })),
          ],
        },
        {
          name: 'state',
          label: 'State',
          value: asked.state ?? '',
          options: [
            { value: '', label: 'Any' },
            { value: 'running', label: 'Running' },
            { value: 'succeeded', label: 'Finished' },
            { value: 'failed', label: 'Failed' },
            { value: 'aborted', label: 'Stopped' },
          ],
        },
        {
          name: 'by',
          label: 'By',
          value: asked.by ?? '',
          options: [
            { value: '', label: 'Anybody' },
            { value: 'people', label: 'People and scripts' },
            { value: 'schedule', label: 'The schedule' },
          ],
        },
        {
          name: 'dry',
          label: 'Dry runs',
          value: asked.dry ?? '',
          options: [
            { value: '', label: 'Shown' },
            { value: 'false', label: 'Left out' },
            { value: 'true', label: 'Only these' },
          ],
        },
        {
          name: 'idle',
          label: 'With nothing to do',
          value: asked.idle ?? '',
          options: [
            { value: '', label: 'Left out' },
            { value: 'true', label: 'Shown' },
          ],
        },
      ]}
    />
  )
}

async function Found({ query }: { query: Awaited<ReturnType<typeof queryOf<typeof Query>>> }) {
  const { kind, state, by, dry, idle, cursor } = query
  const runs = await answer(({ call, services }) =>
    services.seeRuns(call, {
      filter: {
        kind,
        state,
        asked: by && by === 'people',
        dryRun: dry === undefined ? undefined : dry === 'true',
        idle: idle === 'true',
      },
      limit: ROWS,
      after: (cursor && decodeCursor(Cursor, cursor)) || null,
    }),
  )
  if (!runs.ok) return <Unread what="The runs" why={runs.message} />
  const { items, next } = runs.value
  if (items.length === 0) return <Empty>No run is like that.</Empty>
  return (
    <>
      <RunsTable runs={items} label="Runs" />
      <Pages
        older={next && hrefOf(PATH, { ...query, cursor: encodeCursor(next) })}
        newest={cursor ? hrefOf(PATH, { ...query, cursor: undefined }) : null}
      >
        {plural(items.length, 'run')} on this page, newest first.
      </Pages>
    </>
  )
}
