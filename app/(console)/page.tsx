// Is anything wrong now? Every part is read by itself and streams in when it is there.
import type { Metadata } from 'next'
import { Suspense } from 'react'
import { ENDPOINTS } from '../../lib/console/endpoints'
import { WINDOWS } from '../../lib/console/window'
import { mayAct } from '../../lib/operators/role'
import { planned, samplePlan } from '../../lib/traffic/plan'
import { Segmented } from '../_ui/segmented'
import { ZoneSwitch } from '../_ui/zone'
import { AdviceSection, AdviceToCome } from './_overview/advice'
import { AttentionSection, AttentionToCome } from './_overview/attention'
import { ChartsSection, ChartsToCome } from './_overview/charts-section'
import { Filter } from './_overview/filters'
import { FirstVisit } from './_overview/first-visit'
import { MapSection, MapToCome } from './_overview/map-section'
import { readHasHadKeys, readSetting } from './_overview/reads'
import { forbiddenFor, trafficToShow } from './_overview/traffic'
import { TrafficMenu } from './_overview/traffic-menu'
import { TrafficProgress } from './_overview/traffic-progress'
import { OverviewVerdict, VerdictToCome } from './_overview/verdict'
import { hrefOf, type View, viewOf, WINDOW_LABELS } from './_overview/window'
import { answer } from './_shell/answer'
import { PageBody, PageHeader } from './_shell/header'
import { Live } from './_shell/live'
import { Unread } from './_shell/unread'

export const metadata: Metadata = { title: { absolute: 'Overview · Onceover' } }

type Search = Promise<Record<string, string | string[] | undefined>>

export default async function Overview({ searchParams }: { searchParams: Search }) {
  const view = viewOf(await searchParams)
  return (
    <>
      <PageHeader title="Overview">
        <span className="max-wide:hidden">
          <Live at={new Date().toISOString()} />
        </span>
        <Suspense fallback={<Choices view={view} tenants={[]} />}>
          <ChoicesIfAny view={view} />
        </Suspense>
        <ZoneSwitch />
        <Suspense>
          <More />
        </Suspense>
      </PageHeader>
      <PageBody>
        <Suspense>
          <Traffic />
        </Suspense>
        <Suspense fallback={<VerdictToCome />}>
          <Body view={view} />
        </Suspense>
      </PageBody>
    </>
  )
}

async function Body({ view }: { view: View }) {
  const had = await readHasHadKeys()
  if (!had.ok)
    return (
      <div className="py-5">
        <Unread what="How things stand" why={had.message} />
      </div>
    )
  if (!had.value) return <FirstVisit view={view} running={(await trafficToShow())?.state === 'running'} />
  return (
    <>
      <Suspense fallback={<VerdictToCome />}>
        <OverviewVerdict view={view} />
      </Suspense>
      <Suspense fallback={<MapToCome />}>
        <MapSection view={view} />
      </Suspense>
      <div className="flex flex-col gap-x-8 full:flex-row">
        <div className="min-w-0 flex-1">
          <Suspense fallback={<AttentionToCome />}>
            <AttentionSection view={view} />
          </Suspense>
        </div>
        <div className="min-w-0 full:w-[372px]">
          <Suspense fallback={<AdviceToCome />}>
            <AdviceSection view={view} />
          </Suspense>
        </div>
      </div>
      <Suspense fallback={<ChartsToCome view={view} />}>
        <ChartsSection view={view} />
      </Suspense>
    </>
  )
}

function Choices({ view, tenants }: { view: View; tenants: readonly string[] }) {
  const all = (rest: Partial<View>) => ({ label: 'All', href: hrefOf({ ...view, ...rest }) })
  return (
    <>
      <Filter
        name="Tenant"
        chosen={view.tenant ?? 'All'}
        choices={[
          all({ tenant: undefined }),
          ...tenants.map((tenant) => ({ label: tenant, href: hrefOf({ ...view, tenant }) })),
        ]}
      />
      <Filter
        name="Endpoint"
        chosen={view.endpoint ?? 'All'}
        choices={[
          all({ endpoint: undefined }),
          ...ENDPOINTS.map((endpoint) => ({ label: endpoint, href: hrefOf({ ...view, endpoint }) })),
        ]}
      />
      <Segmented
        label="Window"
        value={view.window}
        options={WINDOWS.map((window) => ({
          value: window,
          label: WINDOW_LABELS[window],
          href: hrefOf({ ...view, window }),
        }))}
      />
    </>
  )
}

const MOST_TENANTS = 200

/** Of nothing there is nothing to choose. That it can't be told is no reason to take a choice away. */
async function ChoicesIfAny({ view }: { view: View }) {
  const [had, tenants] = await Promise.all([
    readHasHadKeys(),
    answer(({ call, services }) => services.seeTenants(call, { limit: MOST_TENANTS, after: null })),
  ])
  if (had.ok && !had.value) return null
  const names = tenants.ok ? tenants.value.items.map(({ name }) => name) : []
  return <Choices view={view} tenants={names.toSorted((a, b) => a.localeCompare(b))} />
}

async function Traffic() {
  const [setting, run] = await Promise.all([readSetting(), trafficToShow()])
  return setting.ok && run && <TrafficProgress run={run} mayStop={mayAct(setting.value.role, 'operator')} />
}

/** What is not for every day. On the first visit it is on the page itself. */
async function More() {
  const [setting, had, run] = await Promise.all([readSetting(), readHasHadKeys(), trafficToShow()])
  if (!setting.ok || !setting.value.isSandbox || !had.ok || !had.value) return null
  return (
    <TrafficMenu
      plan={planned(samplePlan())}
      forbidden={forbiddenFor(setting.value.role)}
      running={run?.state === 'running'}
    />
  )
}
