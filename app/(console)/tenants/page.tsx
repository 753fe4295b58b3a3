import { Ban } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { Suspense } from 'react'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../../../lib/http/cursor'
import { isStorable } from '../../../lib/http/validate'
import { mayAct } from '../../../lib/operators/role'
import type { ListedTenant } from '../../../lib/tenants/tenant'
import { Pages } from '../../_ui/pages'
import { Empty, Verdict } from '../../_ui/section'
import { Table, Td, Th } from '../../_ui/table'
import { Instant } from '../../_ui/time'
import { count, plural } from '../../_ui/words'
import { answer } from '../_shell/answer'
import { PageBody, PageHeader } from '../_shell/header'
import { hrefOf, queryOf, type SearchParams } from '../_shell/query'
import { Unread } from '../_shell/unread'
import { NewTenant } from './new-tenant'
import { NEAR_CAP, retentionWords, shareOf } from './tenant-words'

export const metadata: Metadata = { title: 'Tenants' }

const ROWS = 100
const WHY_NOT = 'why-not'
const Cursor = z.object({
  createdAt: z.iso.datetime().refine((at) => !at.startsWith('0000')),
  id: z.string().max(64).refine(isStorable),
})

export default async function Tenants({ searchParams }: { searchParams: SearchParams }) {
  const { cursor } = await queryOf({ cursor: z.string() }, searchParams)
  return (
    <>
      <PageHeader title="Tenants">
        <Suspense>
          <New />
        </Suspense>
      </PageHeader>
      <PageBody>
        <Suspense fallback={<div className="min-h-[60vh]" />}>
          <Found cursor={cursor} />
        </Suspense>
      </PageBody>
    </>
  )
}

async function New() {
  const who = await answer(async ({ call }) => call.actor)
  return <NewTenant forbiddenBy={who.ok && mayAct(who.value.role, 'admin') ? null : WHY_NOT} />
}

async function Found({ cursor }: { cursor: string | undefined }) {
  const after = (cursor && decodeCursor(Cursor, cursor)) || null
  const who = await answer(async ({ call }) => call.actor)
  const tenants = await answer(({ call, services }) => services.seeTenants(call, { limit: ROWS, after }))
  if (!tenants.ok || !who.ok)
    return (
      <div className="py-5">
        <Unread what="The tenants" why={tenants.ok ? '' : tenants.message} />
      </div>
    )
  const { items, next } = tenants.value
  return (
    <>
      <Verdict rest={mayAct(who.value.role, 'admin') ? undefined : <WhyNot role={who.value.role} />}>
        {verdictOf(items, next !== null || cursor !== undefined)}
      </Verdict>
      {items.length === 0 ? (
        <Empty>There is no tenant yet. A tenant has API keys, limits, and keys of its own.</Empty>
      ) : (
        <TenantTable tenants={items} />
      )}
      {(next || cursor) && (
        <Pages older={next && hrefOf('/tenants', { cursor: encodeCursor(next) })} newest={cursor ? '/tenants' : null}>
          {plural(items.length, 'tenant')} on this page, newest first.
        </Pages>
      )}
    </>
  )
}

const WhyNot = ({ role }: { role: string }) => (
  <span id={WHY_NOT}>You can look at everything here. Changes take the role admin; yours is {role}.</span>
)

function verdictOf(tenants: readonly ListedTenant[], more: boolean): string {
  const full = tenants.filter((tenant) => shareOf(tenant) >= 1)
  const near = tenants.filter((tenant) => shareOf(tenant) >= NEAR_CAP && shareOf(tenant) < 1)
  if (full.length > 0) return `${names(full)} can’t make new keys: the live-key cap is reached.`
  if (near.length > 0) return `${names(near)} ${near.length === 1 ? 'is' : 'are'} close to the live-key cap.`
  const disabled = tenants.filter(({ disabled }) => disabled).length
  return `${more ? 'Many tenants' : plural(tenants.length, 'tenant')}, ${
    disabled === 0 ? 'none is disabled' : `${count(disabled)} disabled`
  }. All are well below their live-key cap.`
}

const names = (tenants: readonly ListedTenant[]): string =>
  new Intl.ListFormat('en').format(tenants.slice(0, 3).map(({ name }) => name))

const cell = 'max-full:h-auto max-full:border-0 max-full:py-0 max-full:pr-0'

function TenantTable({ tenants }: { tenants: readonly ListedTenant[] }) {
  return (
    <Table aria-label="Tenants" className="mt-2 max-full:block">
      <thead className="max-full:sr-only">
        <tr>
          <Th>Name</Th>
          <Th number>Live keys</Th>
          <Th number>of its cap</Th>
          <Th number>New keys a minute, at most</Th>
          <Th>Retention</Th>
          <Th number>API keys</Th>
          <Th number>Created</Th>
        </tr>
      </thead>
      <tbody className="max-full:block">
        {tenants.map((tenant) => (
          <tr
            key={tenant.id}
            className="max-full:grid max-full:grid-cols-[minmax(0,1fr)_auto] max-full:gap-x-3 max-full:border-b max-full:border-line max-full:py-2.5"
          >
            <Td className={`${cell} font-medium [overflow-wrap:anywhere]`}>
              <Link href={`/tenants/${tenant.id}`}>{tenant.name}</Link>
              {tenant.disabled && (
                <span className="ml-3 inline-flex items-center gap-1.5 font-normal text-text-2">
                  <Ban size={14} aria-hidden />
                  disabled
                </span>
              )}
            </Td>
            <Td number className={cell}>
              <Link href={hrefOf('/keys', { tenant: tenant.name })}>{count(tenant.liveKeyCount)}</Link>
              <span className="text-text-2 full:hidden"> live keys</span>
            </Td>
            <Td number className={`${cell} text-text-2 max-full:order-3 max-full:text-right`}>
              <Share tenant={tenant} />
            </Td>
            <Td number className={`${cell} max-full:order-2 max-full:text-left max-full:text-text-2`}>
              {count(tenant.newKeysPerMinute)}
              <span className="full:hidden"> new a minute</span>
            </Td>
            <Td className={`${cell} max-full:order-4 max-full:text-text-2`}>
              {retentionWords(tenant.retentionHours)}
              <span className="full:hidden">, retention</span>
            </Td>
            <Td number className={`${cell} max-full:order-5`}>
              <Link href={`/tenants/${tenant.id}#api-keys`}>{count(tenant.apiKeyCount)}</Link>
              <span className="text-text-2 full:hidden"> API keys</span>
            </Td>
            <Td number className={`${cell} text-text-2 max-full:hidden`}>
              <Instant at={tenant.createdAt} seconds={false} />
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function Share({ tenant }: { tenant: ListedTenant }) {
  const share = shareOf(tenant)
  const percent = share > 0 && share < 0.01 ? '< 1' : String(Math.floor(share * 100))
  return (
    <span className={share >= NEAR_CAP ? 'font-semibold text-text' : undefined}>
      {percent} % of {count(tenant.liveKeyCap)}
    </span>
  )
}
