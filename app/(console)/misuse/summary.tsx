// Who, where and what, in one look: against as long a stretch before, so that a spike looks like one.
import Link from 'next/link'
import type { ReactNode } from 'react'
import type { Compared, MisuseSummary, MisuseWindow } from '../../../lib/console/misuse-summary'
import { Section, Verdict } from '../../_ui/section'
import { Table, Td, Th } from '../../_ui/table'
import { count, endpointWord, plural } from '../../_ui/words'
import { answer } from '../_shell/answer'
import { hrefOf } from '../_shell/query'
import { Unread } from '../_shell/unread'
import type { Asked } from './page'

const SHOWN = 8

const LAST: Record<MisuseWindow, string> = {
  '1h': 'in the last hour',
  '24h': 'in the last 24 h',
  '7d': 'in the last 7 days',
}
const NOW: Record<MisuseWindow, string> = { '1h': 'Last hour', '24h': 'Last 24 h', '7d': 'Last 7 d' }
const BEFORE: Record<MisuseWindow, string> = {
  '1h': 'Same hour, day before',
  '24h': 'Day before',
  '7d': 'Week before',
}

export async function Summary({ asked, window }: { asked: Asked; window: MisuseWindow }) {
  const { tenant, endpoint } = asked
  const summary = await answer(({ call, services }) => services.summarizeMisuse(call, { window, tenant, endpoint }))
  if (!summary.ok)
    return (
      <div className="py-5">
        <Unread what="How often keys are misused" why={summary.message} />
      </div>
    )
  const { tenants, endpoints, paths, rows, from } = summary.value
  const narrowed = (more: Record<string, string>) =>
    `${hrefOf('/misuse', { ...asked, cursor: undefined, from, ...more })}#rows`
  return (
    <>
      <Verdict rest={restOf(summary.value, window)}>{verdictOf(summary.value, window)}</Verdict>
      {(tenants.length > 0 || paths.length > 0) && (
        <div className="grid gap-x-10 border-b border-line wide:grid-cols-2 full:grid-cols-3">
          <ComparedTable
            title="By tenant"
            what="Tenant"
            window={window}
            rows={tenants.slice(0, SHOWN).map(({ id, name, ...numbers }) => ({
              key: id,
              name: <Link href={`/tenants/${id}`}>{name}</Link>,
              href: narrowed({ tenant: name }),
              ...numbers,
            }))}
          />
          <ComparedTable
            title="By endpoint"
            what="Endpoint"
            window={window}
            rows={endpoints.slice(0, SHOWN).map(({ endpoint: at, ...numbers }) => ({
              key: at,
              name: <span title={at}>{endpointWord(at)}</span>,
              href: narrowed({ endpoint: at }),
              ...numbers,
            }))}
          />
          <Section title="What differs" note={`in ${plural(rows, 'request')}`}>
            {paths.length === 0 ? (
              <p className="text-text-2">Where they differ was not written down.</p>
            ) : (
              <Table aria-label="What differs">
                <thead>
                  <tr>
                    <Th>Path</Th>
                    <Th number>Requests</Th>
                  </tr>
                </thead>
                <tbody>
                  {paths.map(({ path, count: n }) => (
                    <tr key={path}>
                      <Td mono className="[overflow-wrap:anywhere]">
                        {path}
                      </Td>
                      <Td number>
                        <Link href={narrowed({ path })}>{count(n)}</Link>
                      </Td>
                    </tr>
                  ))}
                </tbody>
              </Table>
            )}
          </Section>
        </div>
      )}
    </>
  )
}

interface ComparedTableProps {
  title: string
  what: string
  window: MisuseWindow
  rows: (Compared & { key: string; name: ReactNode; href: string })[]
}

function ComparedTable({ title, what, window, rows }: ComparedTableProps) {
  const most = Math.max(1, ...rows.map(({ count: n }) => n))
  return (
    <Section title={title}>
      <Table aria-label={title}>
        <thead>
          <tr>
            <Th>{what}</Th>
            <Th className="w-1/4">
              <span className="sr-only">As a bar</span>
            </Th>
            <Th number>{NOW[window]}</Th>
            <Th number>{BEFORE[window]}</Th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name, href, count: n, before }) => (
            <tr key={key}>
              <Td className="[overflow-wrap:anywhere]">{name}</Td>
              <Td aria-hidden>
                <span className="block h-2 bg-(--ch-misuse)" style={{ width: `${(n / most) * 100}%` }} />
              </Td>
              <Td number className={n > 2 * before && n > 2 ? 'font-semibold' : undefined}>
                <Link href={href}>{count(n)}</Link>
              </Td>
              <Td number className="text-text-2">
                {count(before)}
              </Td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Section>
  )
}

function verdictOf({ count: n, tenants }: MisuseSummary, window: MisuseWindow): string {
  const guilty = tenants.filter((tenant) => tenant.count > 0)
  if (guilty.length === 0) return `No key was sent with another request ${LAST[window]}.`
  const who = guilty.length === 1 ? guilty[0]!.name : plural(guilty.length, 'tenant')
  const times = n === 1 ? 'once' : `${count(n)} times`
  return `${who} sent keys with other requests ${times} ${LAST[window]}.`
}

function restOf({ count: n, before }: MisuseSummary, window: MisuseWindow): string {
  const earlier = {
    '1h': 'In the same hour of the day before',
    '24h': 'On the day before',
    '7d': 'In the week before',
  }[window]
  const then = `${earlier}: ${before === 0 ? 'none' : count(before)}.`
  return n === 0 ? then : `${then} Each got 422 and changed nothing: the client must make a new key for a new request.`
}
