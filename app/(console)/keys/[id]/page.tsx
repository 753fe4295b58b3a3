import type { Metadata } from 'next'
import { headers } from 'next/headers'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { Suspense } from 'react'
import type { KeyDetail } from '../../../../lib/console/key-detail'
import { storyOf } from '../../../../lib/console/key-story'
import { seenOf } from '../../../../lib/console/key-story-evidence'
import { lanesOf } from '../../../../lib/console/key-story-lanes'
import { isId } from '../../../../lib/db/id'
import { quoteKey } from '../../../../lib/idempotency/key'
import type { Input } from '../../../../lib/idempotency/operation'
import { providerKeyOf } from '../../../../lib/idempotency/record'
import { CopyButton } from '../../../_ui/copy-button'
import { Failure, Section } from '../../../_ui/section'
import { LOOKS } from '../../../_ui/state'
import { StateBadge } from '../../../_ui/state-mark'
import { answer } from '../../_shell/answer'
import { PageBody, PageHeader } from '../../_shell/header'
import { Live } from '../../_shell/live'
import { requireSession } from '../../_shell/session'
import { DiscrepancyList } from '../../reconciliation/discrepancy-list'
import { Lanes } from './_lanes/lanes'
import { type Offers, offersOf } from './_words/offers'
import { verdictOf } from './_words/verdict'
import { wireOf } from './_words/wire'
import { ActionButtons } from './action-buttons'
import { Changed } from './changed'
import { CopyLink } from './copy-link'
import { Evidence } from './evidence'
import { Facts } from './facts'
import { filterOf } from './from-list'
import { KeyProvider } from './key-context'
import { Neighbours } from './neighbours'
import { NextStep } from './next-step'
import { Retry } from './retry'
import { differenceWords, subjectOf } from './subject'
import { Timeline } from './timeline'

export const metadata: Metadata = { title: 'Key' }

const MOST_ACTS = 200

interface PageProps {
  params: Promise<{ id: string }>
  searchParams: Promise<{ from?: string | string[] }>
}

export default async function KeyPage({ params, searchParams }: PageProps) {
  const { id } = await params
  const { from } = await searchParams
  if (!isId('idem', id)) notFound()
  const shown = await answer(({ call, services }) => services.showKey(call, { id }))
  if (!shown.ok && shown.code === 'not_found') notFound()
  const list = typeof from === 'string' ? from : null
  const now = new Date().toISOString()
  return (
    <>
      <PageHeader trail={<Trail detail={shown.ok ? shown.value : null} list={list} />}>
        <span className="max-full:hidden">
          <Live at={now} />
        </span>
        {shown.ok && (
          <Suspense fallback={<Neighbours newer={null} older={null} />}>
            <NeighboursOf detail={shown.value} list={list} />
          </Suspense>
        )}
        <span className="max-wide:hidden">
          <CopyLink path={`/keys/${id}`} />
        </span>
      </PageHeader>
      <PageBody>
        {shown.ok ? (
          <KeyProvider key={id}>
            <Story detail={shown.value} now={now} />
          </KeyProvider>
        ) : (
          <div className="py-5">
            <Failure>The key can’t be shown just now. {shown.message}</Failure>
          </div>
        )}
      </PageBody>
    </>
  )
}

function Trail({ detail, list }: { detail: KeyDetail | null; list: string | null }) {
  const keys = list ? `/keys?${list}` : '/keys'
  return (
    <nav aria-label="Breadcrumb" className="min-w-0">
      <ol className="flex list-none items-center gap-2">
        <li>
          <Link href={keys}>Keys</Link>
        </li>
        {detail && (
          <>
            <li aria-hidden className="text-text-3 max-wide:hidden">
              /
            </li>
            <li className="max-wide:hidden">
              <Link href={`/keys?state=${detail.record.state}`}>{LOOKS[detail.record.state].word}</Link>
            </li>
            <li aria-hidden className="text-text-3">
              /
            </li>
            <li aria-current="page" className="min-w-0 truncate font-mono text-12">
              {detail.record.key.slice(0, 8)}
              {detail.record.key.length > 8 && '…'}
            </li>
          </>
        )}
      </ol>
    </nav>
  )
}

async function NeighboursOf({ detail: { record }, list }: { detail: KeyDetail; list: string | null }) {
  const { createdAt, id } = record
  const found = await answer(({ call, services }) =>
    services.keyNeighbours(call, { filter: filterOf(list), createdAt, id }),
  )
  const to = (key: string | null) => key && `/keys/${key}${list ? `?from=${encodeURIComponent(list)}` : ''}`
  return found.ok ? (
    <Neighbours newer={to(found.value.newer)} older={to(found.value.older)} />
  ) : (
    <Neighbours newer={null} older={null} />
  )
}

async function Story({ detail, now }: { detail: KeyDetail; now: string }) {
  const { record, nextReplay } = detail
  const { call, services } = await requireSession()
  const offers = offersOf(detail, call.actor.role)
  const acts = await answer((session) =>
    session.services.listAudit(session.call, { target: record.id, limit: MOST_ACTS, after: null }),
  )
  const moments = storyOf(detail, acts.ok ? acts.value.items : [])
  const lanes = lanesOf(moments, { record, now, settleMs: services.rules.settleMs })
  const seen = seenOf(detail)
  const { status, headers: sent, body } = nextReplay
  return (
    <>
      <Head detail={detail} now={now} />
      <Facts detail={detail} />
      <div className="@container">
        <div className="grid border-b border-line @min-[640px]:grid-cols-2 @min-[960px]:grid-cols-[264px_minmax(0,1fr)_312px]">
          <div className="py-5 max-wide:border-b max-wide:border-line @min-[640px]:col-start-2 @min-[640px]:row-start-1 @min-[640px]:border-l @min-[640px]:border-line @min-[640px]:pl-6 @min-[960px]:col-start-3">
            <ActionButtons offers={offers} subject={subjectOf(detail, moments, seen, differenceWords(detail, seen))} />
          </div>
          <div className="py-5 max-wide:border-b max-wide:border-line @min-[640px]:col-start-1 @min-[640px]:row-start-1 @min-[640px]:pr-6">
            <NextStep record={record} moments={moments} maxLookUps={services.rules.maxLookUps} now={now} />
          </div>
          <div className="min-w-0 py-5 @min-[640px]:col-span-2 @min-[640px]:border-t @min-[640px]:border-line @min-[960px]:col-span-1 @min-[960px]:col-start-2 @min-[960px]:row-start-1 @min-[960px]:border-t-0 @min-[960px]:border-l @min-[960px]:px-6">
            <Retry
              kind={nextReplay.kind}
              wire={status !== null && sent && body !== null ? wireOf({ status, headers: sent, body }) : null}
              curl={await curlParts(detail)}
            />
          </div>
        </div>
      </div>
      <Section title="Timeline" note={lanes && <TimelineNote cut={lanes.scale.stretches.length > 1} />}>
        <span id="timeline" />
        {!acts.ok && (
          <div className="mb-4">
            <Failure>What people did to it can’t be shown just now. {acts.message}</Failure>
          </div>
        )}
        {lanes && <Lanes lanes={lanes} />}
        <Timeline record={record} moments={moments} now={now} />
      </Section>
      <EvidenceOf detail={detail} seen={seen} unmask={offers.unmask} />
      {detail.discrepancies.length > 0 && (
        <Section title="Discrepancies" note="What does not fit together about this key">
          <DiscrepancyList discrepancies={detail.discrepancies} forbidden={offers.close} ofKey />
        </Section>
      )}
    </>
  )
}

const TimelineNote = ({ cut }: { cut: boolean }) => (
  <>
    <span className="max-full:hidden">{cut ? 'To scale, with one cut' : 'To scale'}</span>
    <span className="full:hidden">Gaps are drawn, long ones shortened</span>
  </>
)

function Head({ detail, now }: { detail: KeyDetail; now: string }) {
  const { record } = detail
  return (
    <div className="border-b border-line py-5">
      <Changed state={record.state} version={record.version} at={now} />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <StateBadge state={record.state} />
        <div className="flex min-w-0 items-center gap-2 max-wide:w-full">
          <h1 className="min-w-0 font-mono text-16 font-medium tracking-normal [overflow-wrap:anywhere] max-wide:flex-1">
            {record.key}
          </h1>
          <CopyButton text={record.key} label="Copy the key" icon />
        </div>
      </div>
      <p className="mt-2 text-20 font-semibold tracking-[-0.01em] text-balance">{verdictOf(detail)}</p>
    </div>
  )
}

function EvidenceOf({
  detail,
  seen,
  unmask,
}: {
  detail: KeyDetail
  seen: ReturnType<typeof seenOf>
  unmask: Offers['unmask']
}) {
  const { record, order, refund, ledger, request } = detail
  const compared = { record, order, refund, ledger, request, providerKey: providerKeyOf(record.id) }
  return <Evidence compared={compared} seen={seen} unmask={unmask} />
}

/** Where the client would send it: to where this page came from. */
async function curlParts({ record, request }: KeyDetail) {
  if (!request) return null
  const sent = await headers()
  const host = sent.get('x-forwarded-host') ?? sent.get('host') ?? 'localhost'
  const scheme = sent.get('x-forwarded-proto')?.split(',')[0] ?? 'http'
  const { endpoint, key } = record
  return { origin: `${scheme}://${host}`, endpoint, quotedKey: quoteKey(key), request: request as Input }
}
