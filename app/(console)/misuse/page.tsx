import type { Metadata } from 'next'
import Link from 'next/link'
import { Suspense } from 'react'
import { z } from 'zod'
import { ENDPOINTS } from '../../../lib/console/endpoints'
import { MISUSE_WINDOWS } from '../../../lib/console/misuse-summary'
import { decodeCursor, encodeCursor } from '../../../lib/http/cursor'
import { isStorable } from '../../../lib/http/validate'
import { isRefused } from '../../../lib/operators/refusal'
import { FilterBar } from '../../_ui/filter-bar'
import { Pages } from '../../_ui/pages'
import { Empty, Section } from '../../_ui/section'
import { Segmented } from '../../_ui/segmented'
import { Instant } from '../../_ui/time'
import { endpointWord, plural } from '../../_ui/words'
import { answer } from '../_shell/answer'
import { PageBody, PageHeader } from '../_shell/header'
import { hrefOf, queryOf, type SearchParams } from '../_shell/query'
import { Unread } from '../_shell/unread'
import { RowsTable } from './rows-table'
import { Summary } from './summary'

export const metadata: Metadata = { title: 'Misuse' }

const PATH = '/misuse'
const ROWS = 50
const TENANTS_KNOWN = 100

const text = z.string().trim().min(1).max(255).refine(isStorable)
const Moment = z.iso.datetime().refine((at) => !at.startsWith('0000'))
const Query = {
  window: z.enum(MISUSE_WINDOWS),
  tenant: text,
  endpoint: text,
  path: text,
  from: Moment,
  to: Moment,
  cursor: z.string(),
}
export type Asked = Awaited<ReturnType<typeof queryOf<typeof Query>>>

const Cursor = z.object({ at: Moment, id: z.string().max(96).refine(isStorable) })

export default async function Misuse({ searchParams }: { searchParams: SearchParams }) {
  const asked = await queryOf(Query, searchParams)
  const window = asked.window ?? '24h'
  return (
    <>
      <PageHeader title="Misuse">
        <Segmented
          label="Window"
          value={window}
          options={MISUSE_WINDOWS.map((value) => ({
            value,
            label: { '1h': '1 h', '24h': '24 h', '7d': '7 d' }[value],
            href: hrefOf(PATH, { ...asked, window: value, from: undefined, to: undefined, cursor: undefined }),
          }))}
        />
      </PageHeader>
      <PageBody>
        <Suspense key={JSON.stringify([window, asked.tenant, asked.endpoint])} fallback={<div className="h-[300px]" />}>
          <Summary asked={asked} window={window} />
        </Suspense>
        <div id="rows" className="scroll-mt-4">
          <Section title="Requests" note="Where they differ from the first one, never what they say">
            <Suspense>
              <Filters asked={asked} />
            </Suspense>
            <Suspense key={JSON.stringify(asked)} fallback={<div className="min-h-[40vh]" />}>
              <Found asked={asked} />
            </Suspense>
          </Section>
        </div>
      </PageBody>
    </>
  )
}

async function Filters({ asked }: { asked: Asked }) {
  const tenants = await answer(({ call, services }) => services.seeTenants(call, { limit: TENANTS_KNOWN, after: null }))
  const kept = { window: asked.window, from: asked.from, to: asked.to }
  return (
    <FilterBar
      kept={Object.fromEntries(Object.entries(kept).filter((entry): entry is [string, string] => !!entry[1]))}
      filters={[
        {
          name: 'tenant',
          label: 'Tenant',
          value: asked.tenant ?? '',
          placeholder: 'Name or id',
          known: tenants.ok ? tenants.value.items.map(({ name }) => name) : [],
        },
        {
          name: 'endpoint',
          label: 'Endpoint',
          value: asked.endpoint ?? '',
          options: [
            { value: '', label: 'All' },
            ...ENDPOINTS.map((endpoint) => ({ value: endpoint, label: endpointWord(endpoint) })),
          ],
        },
        { name: 'path', label: 'Differs at', value: asked.path ?? '', placeholder: '$.items[].quantity' },
      ]}
    />
  )
}

async function Found({ asked }: { asked: Asked }) {
  const { tenant, endpoint, path, from, to, cursor } = asked
  const after = (cursor && decodeCursor(Cursor, cursor)) || null
  const found = await answer(async ({ call, services }) => {
    const page = await services.listMisuse(call, { tenant, endpoint, path, from, to, limit: ROWS, after })
    if (isRefused(page)) return page
    const names = await services.tenantNames(call, { ids: page.items.map(({ tenantId }) => tenantId) })
    return isRefused(names) ? names : { ...page, names }
  })
  if (!found.ok) return <Unread what="The requests" why={found.message} />
  const { items, next, names } = found.value
  const stretch = (from || to) && (
    <p className="pb-3 text-text-2">
      Only{' '}
      {from && (
        <>
          since <Instant at={from} />
        </>
      )}{' '}
      {to && (
        <>
          until <Instant at={to} />
        </>
      )}
      . <Link href={hrefOf(PATH, { ...asked, from: undefined, to: undefined, cursor: undefined })}>Show all</Link>
    </p>
  )
  const filters = { ...asked, cursor: undefined }
  if (items.length === 0)
    return (
      <>
        {stretch}
        <Empty>
          {tenant || endpoint || path || from || to
            ? 'No request is like that.'
            : 'No key was ever sent with another request.'}
        </Empty>
      </>
    )
  return (
    <>
      {stretch}
      <RowsTable rows={items} names={names} />
      <Pages
        older={next && hrefOf(PATH, { ...filters, cursor: encodeCursor(next) })}
        newest={cursor ? hrefOf(PATH, filters) : null}
      >
        {plural(items.length, 'request')} on this page, newest first. At most 100 a minute are kept for a key; the rest
        is counted.
      </Pages>
    </>
  )
}
