// What the key waits for, as a countdown, and how often the provider was asked.
import clsx from 'clsx'
import type { ReactNode } from 'react'
import type { KeyDetail } from '../../../../lib/console/key-detail'
import type { Moment } from '../../../../lib/console/key-story'
import { isLeftToPeople } from '../../../../lib/reconciliation/left-to-people'
import { Age, Countdown, Instant } from '../../../_ui/time'
import { numberWord, plural } from '../../../_ui/words'
import { wholeDuration } from './_words/whole-duration'
import { LookUpBox } from './look-up-box'

interface NextStepProps {
  record: KeyDetail['record']
  moments: readonly Moment[]
  maxLookUps: number
  now: string
}

export function NextStep({ record, moments, maxLookUps, now }: NextStepProps) {
  switch (record.state) {
    case 'unknown':
      return <NextLookUp record={record} moments={moments} maxLookUps={maxLookUps} now={now} />
    case 'in_progress':
      return (
        <Step title="Lease" big={<Countdown until={record.lockedUntil ?? now} after="Over" />}>
          {record.lockedUntil && (
            <>
              Attempt {record.attempt} has it until <Instant at={record.lockedUntil} />. Then the sweeper or the next
              request moves it on.
            </>
          )}
        </Step>
      )
    case 'pending':
      return (
        <Step title="Waiting for a worker" big={<Age since={record.createdAt} />}>
          A worker takes it up at once as a rule. Past <Instant at={record.expiresAt} /> the sweeper stores a 408.
        </Step>
      )
    case 'failed_retryable':
      return (
        <Step title="Kept for a retry" big={<Countdown until={record.expiresAt} after="Over" />}>
          {record.deadLetteredAt ? (
            <>
              Dead letter since <Instant at={record.deadLetteredAt} />: no worker runs it again by itself. Until{' '}
              <Instant at={record.expiresAt} /> you can have it run again; then it expires.
            </>
          ) : record.async ? (
            <>
              A worker runs it again by itself, until its creation plus its retention. The key is kept until{' '}
              <Instant at={record.expiresAt} />.
            </>
          ) : (
            <>
              Until <Instant at={record.expiresAt} /> a request with the same key runs it again.
            </>
          )}
        </Step>
      )
    case 'completed':
      return (
        <Step title="Answer kept" big={<Countdown until={record.expiresAt} after="Over" />}>
          Until <Instant at={record.expiresAt} /> every retry gets the stored {record.response?.status}. Then the key
          expires: 410.
        </Step>
      )
    case 'expired': {
      const at = moments.findLast(({ what }) => what === 'expired')?.at ?? record.expiresAt
      return (
        <Step title="Expired" big={<Age since={at} ago />}>
          Request and answer are erased. What is left is a tombstone, until the reaper deletes it.
        </Step>
      )
    }
  }
}

function Step({ title, big, children }: { title: string; big: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="min-w-0">
      <h2 className="mb-2 text-14 font-semibold">{title}</h2>
      <p className="text-36 font-semibold tracking-[-0.02em]">{big}</p>
      <div className="mt-2 text-12 text-text-2">{children}</div>
    </section>
  )
}

function NextLookUp({ record, moments, maxLookUps, now }: NextStepProps) {
  const asked = countedLookUps(moments)
  const { reconcileAfter: next, reconcileAttempts: done } = record
  if (record.deadLetteredAt)
    return (
      <Step title="Next look-up" big="None">
        <p className="mb-3">
          Dead letter since <Instant at={record.deadLetteredAt} />. {deadLetterWords(record)}
        </p>
        <Boxes asked={asked} done={done} of={maxLookUps} next={false} />
      </Step>
    )
  const last = moments.findLast(
    ({ what }) => what === 'looked_up' || what === 'outcome_unknown' || what === 'lease_over',
  )
  return (
    <Step title="Next look-up" big={next ? <Countdown until={next} after="Due" /> : 'None planned'}>
      {next && last && <Progress from={last.until} to={next} now={now} />}
      {next && (
        <p className="mb-3">
          at <Instant at={next} />
          {last?.what === 'looked_up' && `, ${wholeDuration(secondsOf(last.until, next))} after the last one`}
        </p>
      )}
      <Boxes asked={asked} done={done} of={maxLookUps} next />
      <p className="mt-2">{lookUpWords(asked, done, maxLookUps)}</p>
    </Step>
  )
}

function deadLetterWords({ lastErrorCode, reconcileAttempts }: KeyDetail['record']): string {
  if (isLeftToPeople(lastErrorCode)) return 'The provider has something else than was asked for: only a person ends it.'
  return `${plural(reconcileAttempts, 'look-up')} and no answer. Resolve it, or resume its look-ups; they resume by themselves when the provider is back from an outage.`
}

const secondsOf = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000

/** The verdicts of the look-ups without an answer, since the last attempt or since they were resumed. */
function countedLookUps(moments: readonly Moment[]): string[] {
  const since = moments.slice(
    moments.findLastIndex(({ what }) => what === 'claimed' || what === 'reserved' || what === 'resumed') + 1,
  )
  return since.flatMap((moment) => (moment.what === 'looked_up' ? moment.numbers.map(() => moment.verdict) : []))
}

function Progress({ from, to, now }: { from: string; to: string; now: string }) {
  const part = Math.min(1, Math.max(0, secondsOf(from, now) / Math.max(0.001, secondsOf(from, to))))
  return (
    <div aria-hidden className="mb-2 h-1 overflow-hidden rounded-1 bg-line">
      <div className="h-full bg-ink" style={{ width: `${part * 100}%` }} />
    </div>
  )
}

function Boxes({ asked, done, of, next }: { asked: string[]; done: number; of: number; next: boolean }) {
  return (
    <ol className="flex flex-wrap gap-1" aria-label={`Look-ups: ${done} of ${of}`}>
      {Array.from({ length: Math.max(of, done) }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a look-up is known by its number
        <li key={i} className={clsx('list-none', next && i === done && 'rounded-1 outline-2 outline-ink')}>
          <LookUpBox verdict={i < done ? (asked[i] ?? 'unreachable') : null} />
        </li>
      ))}
    </ol>
  )
}

function lookUpWords(asked: string[], done: number, of: number): string {
  const said = (verdict: string, words: string) => {
    const times = asked.filter((one) => one === verdict).length
    return times > 0 ? `${numberWord(times)} ${words}.` : null
  }
  return [
    `Look-up ${done + 1} of ${of}.`,
    said('unreachable', 'unreachable'),
    said('pending', 'not decided'),
    `After ${of === done + 1 ? 'this one' : `the ${ordinal(of)}`} it becomes a dead letter.`,
  ]
    .filter(Boolean)
    .join(' ')
}

function ordinal(n: number): string {
  const ending = n % 100 >= 11 && n % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')
  return `${n}${ending}`
}
