import { Ban } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import type { ReactNode } from 'react'
import { isId } from '../../../../lib/db/id'
import { mayAct } from '../../../../lib/operators/role'
import type { TenantDetail } from '../../../../lib/tenants/tenant'
import { Section } from '../../../_ui/section'
import { count } from '../../../_ui/words'
import { answer } from '../../_shell/answer'
import { PageBody, PageHeader } from '../../_shell/header'
import { hrefOf } from '../../_shell/query'
import { Trail } from '../../_shell/trail'
import { Unread } from '../../_shell/unread'
import { NEAR_CAP, shareOf } from '../tenant-words'
import { ApiKeys } from './api-keys'
import { Disable } from './disable'
import { Settings } from './settings'

export const metadata: Metadata = { title: 'Tenant' }

const ABOVE = [{ href: '/tenants', label: 'Tenants' }]
const WHY_NOT = 'why-not'

export default async function TenantPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  if (!isId('ten', id)) notFound()
  const who = await answer(async ({ call }) => call.actor)
  const seen = await answer(({ call, services }) => services.seeTenant(call, { id }))
  if (!seen.ok && seen.code === 'not_found') notFound()
  if (!seen.ok || !who.ok)
    return (
      <>
        <PageHeader trail={<Trail above={ABOVE}>Tenant</Trail>} />
        <PageBody>
          <div className="py-5">
            <Unread what="The tenant" why={seen.ok ? '' : seen.message} />
          </div>
        </PageBody>
      </>
    )
  const tenant = seen.value
  const forbiddenBy = mayAct(who.value.role, 'admin') ? null : WHY_NOT
  return (
    <>
      <PageHeader trail={<Trail above={ABOVE}>{tenant.name}</Trail>}>
        <Link href={hrefOf('/audit', { target: id })}>In the audit log</Link>
        <Disable
          tenant={{ id, name: tenant.name, disabled: tenant.disabled, apiKeyCount: tenant.apiKeyCount }}
          forbiddenBy={forbiddenBy}
        />
      </PageHeader>
      <PageBody>
        {forbiddenBy && (
          <p id={WHY_NOT} className="border-b border-line py-3 text-text-2">
            You can look at everything here. Changes take the role admin; yours is {who.value.role}.
          </p>
        )}
        {tenant.disabled && (
          <p className="flex items-center gap-2 border-b border-line py-3 font-medium">
            <Ban size={14} aria-hidden />
            Disabled: all of its API keys get 401. What is stored stays, and maintenance goes on.
          </p>
        )}
        <Facts tenant={tenant} />
        <div className="grid gap-x-10 full:grid-cols-[360px_minmax(0,1fr)]">
          <Section title="Settings" note="In effect on every node within seconds">
            <Settings
              tenant={{
                id,
                name: tenant.name,
                retentionHours: tenant.retentionHours,
                newKeysPerMinute: tenant.newKeysPerMinute,
                liveKeyCap: tenant.liveKeyCap,
              }}
              forbiddenBy={forbiddenBy}
            />
          </Section>
          <div id="api-keys" className="scroll-mt-4 max-full:border-t max-full:border-line">
            <ApiKeys tenant={{ id, name: tenant.name }} apiKeys={tenant.apiKeys} forbiddenBy={forbiddenBy} />
          </div>
        </div>
      </PageBody>
    </>
  )
}

const Facts = ({ tenant }: { tenant: TenantDetail & { newKeysLastMinute: number } }) => (
  <dl className="grid grid-cols-[repeat(auto-fit,minmax(130px,1fr))] gap-x-6 gap-y-3 border-b border-line py-4">
    <Fact label="Live keys">
      <Link href={hrefOf('/keys', { tenant: tenant.name })}>{count(tenant.liveKeyCount)}</Link>
      <Note strong={shareOf(tenant) >= NEAR_CAP}>of {count(tenant.liveKeyCap)}</Note>
    </Fact>
    <Fact label="New keys, last minute">
      {count(tenant.newKeysLastMinute)}
      <Note strong={tenant.newKeysLastMinute >= NEAR_CAP * tenant.newKeysPerMinute}>
        of {count(tenant.newKeysPerMinute)}
      </Note>
    </Fact>
    <Fact label="API keys">
      <a href="#api-keys">{count(tenant.apiKeyCount)}</a>
    </Fact>
    <Fact label="Misuse">
      <Link href={hrefOf('/misuse', { tenant: tenant.name })} className="text-13 font-normal">
        Keys sent with other requests
      </Link>
    </Fact>
  </dl>
)

const Fact = ({ label, children }: { label: string; children: ReactNode }) => (
  <div>
    <dt className="text-12 text-text-2">{label}</dt>
    <dd className="text-20 font-semibold">{children}</dd>
  </div>
)

const Note = ({ strong, children }: { strong: boolean; children: ReactNode }) => (
  <span className={strong ? 'ml-2 text-13 font-semibold' : 'ml-2 text-13 font-normal text-text-2'}>{children}</span>
)
