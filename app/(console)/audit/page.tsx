import type { Metadata } from 'next'
import { Suspense } from 'react'
import { z } from 'zod'
import { AUDIT_OUTCOMES } from '../../../lib/audit/read'
import { decodeCursor, encodeCursor } from '../../../lib/http/cursor'
import { isStorable } from '../../../lib/http/validate'
import type { OperatorServices } from '../../../lib/node/operator-services'
import { FilterBar } from '../../_ui/filter-bar'
import { Pages } from '../../_ui/pages'
import { Empty } from '../../_ui/section'
import { plural } from '../../_ui/words'
import { answer } from '../_shell/answer'
import { PageBody, PageHeader } from '../_shell/header'
import { hrefOf, queryOf, type SearchParams } from '../_shell/query'
import { Unread } from '../_shell/unread'
import { Entries } from './entries'
import { Verify } from './verify'

export const metadata: Metadata = { title: 'Audit log' }

const PATH = '/audit'
const ROWS = 50

const text = z.string().trim().min(1).max(255).refine(isStorable)
const Query = {
  actor: text,
  action: text,
  target: text,
  outcome: z.enum(AUDIT_OUTCOMES),
  /** The number of an entry: it and older ones. */
  from: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER - 1),
  cursor: z.string(),
}
type Asked = Awaited<ReturnType<typeof queryOf<typeof Query>>>

const Cursor = z.object({ seq: z.int().min(0) })

export default async function Audit({ searchParams }: { searchParams: SearchParams }) {
  const asked = await queryOf(Query, searchParams)
  return (
    <>
      <PageHeader title="Audit log" />
      <PageBody>
        <Verify />
        <Suspense>
          <Filters asked={asked} />
        </Suspense>
        <Suspense key={JSON.stringify(asked)} fallback={<div className="min-h-[60vh]" />}>
          <Found asked={asked} />
        </Suspense>
      </PageBody>
    </>
  )
}

async function Filters({ asked }: { asked: Asked }) {
  const known = await answer(async ({ services }) => actionsOf(services))
  return (
    <FilterBar
      filters={[
        { name: 'actor', label: 'Who', value: asked.actor ?? '', placeholder: 'Name, e-mail or id' },
        {
          name: 'action',
          label: 'What',
          value: asked.action ?? '',
          placeholder: 'key.resolve',
          known: known.ok ? known.value : [],
        },
        { name: 'target', label: 'To what', value: asked.target ?? '', placeholder: 'An id' },
        {
          name: 'outcome',
          label: 'Outcome',
          value: asked.outcome ?? '',
          options: [
            { value: '', label: 'Any' },
            { value: 'done', label: 'Done' },
            { value: 'forbidden', label: 'Forbidden' },
          ],
        },
      ]}
    />
  )
}

/** What everybody may do changes nothing, and leaves no entry. */
function actionsOf(services: OperatorServices): string[] {
  const useCases = [...Object.values(services), ...Object.values(services.runDaemon)]
  const actions = useCases.flatMap((one) =>
    typeof one === 'function' && 'action' in one && one.role !== 'viewer' ? [one.action as string] : [],
  )
  return [...new Set([...actions, 'session.sign_in', 'session.sign_out'])].sort()
}

async function Found({ asked }: { asked: Asked }) {
  const { actor, action, target, outcome, from, cursor } = asked
  const start = from === undefined ? null : { seq: from + 1 }
  const after = (cursor && decodeCursor(Cursor, cursor)) || start
  const entries = await answer(({ call, services }) =>
    services.listAudit(call, { actor, action, target, outcome, limit: ROWS, after }),
  )
  if (!entries.ok) return <Unread what="The log" why={entries.message} />
  const { items, next } = entries.value
  const filters = { actor, action, target, outcome }
  const filtered = Object.values(filters).some((value) => value !== undefined)
  if (items.length === 0)
    return <Empty>{filtered ? 'No entry is like that.' : 'Nobody has changed anything yet.'}</Empty>
  return (
    <>
      <Entries entries={items} />
      <Pages
        older={next && hrefOf(PATH, { ...filters, cursor: encodeCursor(next) })}
        newest={after ? hrefOf(PATH, filters) : null}
      >
        {plural(items.length, 'entry', 'entries')} on this page, newest first.
      </Pages>
    </>
  )
}
