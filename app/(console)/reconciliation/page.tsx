import type { Metadata } from 'next'
import Link from 'next/link'
import { type ReactNode, Suspense } from 'react'
import { z } from 'zod'
import type { QueueOrder, UnknownQueue } from '../../../lib/console/unknown-queue'
import { mayAct } from '../../../lib/operators/role'
import { Button } from '../../_ui/button'
import { Empty, Failure, Section, Verdict } from '../../_ui/section'
import { Segmented } from '../../_ui/segmented'
import { Age } from '../../_ui/time'
import { count, plural } from '../../_ui/words'
import { answer } from '../_shell/answer'
import { PageBody, PageHeader } from '../_shell/header'
import { Live } from '../_shell/live'
import { DiscrepancyList } from './discrepancy-list'
import { QueueTable } from './queue-table'

export const metadata: Metadata = { title: 'Reconciliation' }

const SHOWN_DISCREPANCIES = 50

const Asked = z.object({
  order: z.enum(['next', 'oldest']).catch('next'),
  discrepancies: z.enum(['open', 'closed']).catch('open'),
  /** Where the page of discrepancies begins. */
  after: z
    .string()
    .regex(/^[^~]+~dis_[0-9a-z]{26}$/)
    .transform((text) => {
      const [createdAt = '', id = ''] = text.split('~')
      return { createdAt, id }
    })
    .refine(({ createdAt }) => z.iso.datetime().safeParse(createdAt).success)
    .nullable()
    .catch(null),
})
type Asked = z.infer<typeof Asked>

interface PageProps {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}

export default async function Reconciliation({ searchParams }: PageProps) {
  const asked = Asked.parse(await searchParams)
  return (
    <>
      <PageHeader title="Reconciliation">
        <Live at={new Date().toISOString()} />
        <Button asChild>
          <Link href="/maintenance">Run the reconciler now</Link>
        </Button>
      </PageHeader>
      <PageBody>
        <Suspense fallback={<div className="h-[420px]" />}>
          <Queue asked={asked} />
        </Suspense>
        <Suspense fallback={<div className="h-40" />}>
          <Discrepancies asked={asked} />
        </Suspense>
      </PageBody>
    </>
  )
}

const hrefOf = (asked: Asked, change: Partial<Record<'order' | 'discrepancies' | 'after', string>>): string => {
  const { order, discrepancies } = { ...asked, ...change }
  const query = new URLSearchParams()
  if (order !== 'next') query.set('order', order)
  if (discrepancies !== 'open') query.set('discrepancies', discrepancies)
  if (change.after) query.set('after', change.after)
  return query.size > 0 ? `/reconciliation?${query}` : '/reconciliation'
}

async function Queue({ asked }: { asked: Asked }) {
  const queue = await answer(({ call, services }) => services.unknownQueue(call, { order: asked.order }))
  if (!queue.ok)
    return (
      <div className="py-5">
        <Failure>The queue can’t be shown just now. {queue.message}</Failure>
      </div>
    )
  const { deadLetters, waiting, counts, maxLookUps } = queue.value
  return (
    <>
      <Verdict rest={<Rest queue={queue.value} />}>{verdictOf(queue.value)}</Verdict>
      {counts.deadLetters > 0 && (
        <Section
          title="Dead letters"
          note={`${maxLookUps} look-ups each and no answer. Only a person moves these on.`}
          aside={
            <All shown={deadLetters.length} of={counts.deadLetters} href="/keys?state=unknown&deadLettered=true" />
          }
        >
          <QueueTable
            keys={deadLetters}
            maxLookUps={maxLookUps}
            label="Dead letters"
            from="state=unknown&deadLettered=true"
          />
        </Section>
      )}
      <Section
        title="Waiting for the provider"
        note={
          counts.waiting > 0 && `${plural(counts.waiting, 'key')}, asked about later and later, at most an hour apart`
        }
        aside={
          <span className="flex flex-wrap items-center gap-4">
            <All shown={waiting.length} of={counts.waiting} href="/keys?state=unknown&deadLettered=false" />
            {counts.waiting > 1 && <Order asked={asked} />}
          </span>
        }
      >
        {waiting.length === 0 ? (
          <Empty>No key waits for an answer of the provider.</Empty>
        ) : (
          <QueueTable
            keys={waiting}
            maxLookUps={maxLookUps}
            label="Waiting for the provider"
            from="state=unknown&deadLettered=false"
          />
        )}
      </Section>
    </>
  )
}

const ORDER_WORDS: Record<QueueOrder, string> = { next: 'Next look-up', oldest: 'Oldest first' }

const Order = ({ asked }: { asked: Asked }) => (
  <Segmented
    label="Order"
    value={asked.order}
    options={(['next', 'oldest'] as const).map((order) => ({
      value: order,
      label: ORDER_WORDS[order],
      href: hrefOf(asked, { order }),
    }))}
  />
)

function All({ shown, of, href }: { shown: number; of: number; href: string }): ReactNode {
  return of > shown ? <Link href={href}>All {count(of)}</Link> : null
}

function verdictOf({ counts: { deadLetters, waiting } }: UnknownQueue): string {
  if (deadLetters > 0)
    return deadLetters === 1 ? '1 key waits for a person.' : `${count(deadLetters)} keys wait for a person.`
  if (waiting > 0)
    return waiting === 1
      ? '1 outcome is unknown, and is being asked about.'
      : `${count(waiting)} outcomes are unknown, and are being asked about.`
  return 'Every outcome is known.'
}

function Rest({ queue: { counts, oldestSince } }: { queue: UnknownQueue }): ReactNode {
  const { deadLetters, waiting, givenUp } = counts
  return (
    <>
      {deadLetters > 0 && waiting > 0 && `${plural(waiting, 'more is', 'more are')} being asked about. `}
      {oldestSince && (
        <>
          The oldest has been unknown for <Age since={oldestSince} />.{' '}
        </>
      )}
      {givenUp > 0 && (
        <>
          <Link href="/keys?state=failed_retryable&deadLettered=true">{plural(givenUp, 'accepted key')}</Link>
          {givenUp === 1 ? ' is a dead letter' : ' are dead letters'}: proven not executed, and past{' '}
          {givenUp === 1 ? 'its' : 'their'} time. A person can have {givenUp === 1 ? 'it' : 'them'} run again.
        </>
      )}
      {deadLetters + waiting + givenUp === 0 && 'Nobody has to do anything.'}
    </>
  )
}

async function Discrepancies({ asked }: { asked: Asked }) {
  const { discrepancies: state, after } = asked
  const found = await answer(async ({ call, services }) => {
    const list = await services.listDiscrepancies(call, { state, limit: SHOWN_DISCREPANCIES, after })
    return 'refused' in list ? list : { ...list, role: call.actor.role }
  })
  return (
    <Section
      title="Discrepancies"
      note="What the ledger comparison and contradicting evidence found"
      aside={
        <Segmented
          label="Discrepancies"
          value={state}
          options={(['open', 'closed'] as const).map((one) => ({
            value: one,
            label: one === 'open' ? 'Open' : 'Closed',
            href: hrefOf(asked, { discrepancies: one }),
          }))}
        />
      }
    >
      {!found.ok ? (
        <Failure>Discrepancies can’t be shown just now. {found.message}</Failure>
      ) : found.value.items.length === 0 ? (
        <Empty>
          {state === 'open'
            ? 'None is open: the ledger and the provider agree, as far as they were compared.'
            : 'None was closed yet.'}
        </Empty>
      ) : (
        <>
          <DiscrepancyList
            discrepancies={found.value.items}
            forbidden={
              mayAct(found.value.role, 'operator')
                ? null
                : `This takes the role operator; yours is ${found.value.role}.`
            }
          />
          {found.value.next && (
            <p className="pt-3">
              <Link href={hrefOf(asked, { after: `${found.value.next.createdAt}~${found.value.next.id}` })}>
                Older ones
              </Link>
            </p>
          )}
        </>
      )}
    </Section>
  )
}
