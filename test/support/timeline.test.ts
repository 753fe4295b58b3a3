import { expect, it } from 'vitest'
import type { State } from '../../lib/idempotency/states'
import { illegalities, type TimelineEvent } from './timeline'

const RULES = { leaseMs: 1000, settleMs: 500 }
const story = (...events: [string, number][]): TimelineEvent[] =>
  events.map(([event, ms]) => ({ event, at: new Date(1_000_000 + ms).toISOString() }))

it.each<[string, State, TimelineEvent[]]>([
  ['answered at once', 'completed', story(['reserved', 0], ['settled', 10])],
  [
    'accepted, and tried twice',
    'completed',
    story(['accepted', 0], ['claimed', 5], ['released', 9], ['claimed', 20], ['settled', 30]),
  ],
  [
    'proven not executed after the settle window',
    'failed_retryable',
    story(['reserved', 0], ['outcome_unknown', 400], ['looked_up', 500], ['released', 1500]),
  ],
  [
    'a lease that ran out',
    'completed',
    story(['reserved', 0], ['lease_over', 1000], ['evidence', 1001], ['settled', 1002]),
  ],
  ['expired after its answer', 'expired', story(['reserved', 0], ['settled', 10], ['expired', 20])],
])('the timeline check accepts: %s', (_, ends, timeline) => {
  expect(illegalities(timeline, ends, RULES)).toStrictEqual([])
})

it.each<[string, State, TimelineEvent[]]>([
  ['claimed when it was in_progress', 'in_progress', story(['reserved', 0], ['claimed', 2000])],
  ['claimed when it was unknown', 'in_progress', story(['reserved', 0], ['outcome_unknown', 9], ['claimed', 2000])],
  ['settled when it was completed', 'completed', story(['reserved', 0], ['settled', 10], ['settled', 20])],
  ['its lease was ended before it was over', 'unknown', story(['reserved', 0], ['lease_over', 999])],
  [
    'taken for not executed while a call could still arrive',
    'failed_retryable',
    story(['reserved', 0], ['outcome_unknown', 9], ['released', 1499]),
  ],
  ['settled when it was null', 'completed', story(['settled', 0])],
  ['it is unknown, and its timeline ends completed', 'unknown', story(['reserved', 0], ['settled', 10])],
])('the timeline check reports: %s', (sentence, ends, timeline) => {
  expect(illegalities(timeline, ends, RULES)).toStrictEqual([sentence])
})

it('the timeline check reports an attempt number that was skipped', () => {
  const timeline = story(['reserved', 0], ['released', 9], ['claimed', 10]).map((event, i) => ({
    ...event,
    attempt: [1, 1, 3][i],
  }))
  expect(illegalities(timeline, 'in_progress', RULES)).toStrictEqual(['attempt 3 after 1'])
})
