// The long run must be able to fail: each thing that must not be is seen, and the same seed does the same again.
import { expect, it } from 'vitest'
import type { Answer } from '../support/client'
import { openJournal } from './journal'
import { openRandom } from './random'
import { type Findings, table, violations } from './report'

const GAUGE = { start: 1, least: 1, most: 1, end: 1, slope: null }
const CLEAN: Findings = {
  ...{ seed: 1, seconds: 60, rate: 10, asked: 600, shed: 0, answered: 600, keys: 500, longestMs: 9, quietMs: [1, 2] },
  ...{
    faults: [{ kind: 'line cut', members: [], endedAt: 0, recoveredMs: 5 }],
    irreparable: [],
    statuses: { 201: 600 },
  },
  ...{ duplicates: 0, losses: 0, contradictions: 0, discrepancies: 0, stuck: 0, wrong: [] },
  ...{ memory: [GAUGE], connections: GAUGE },
}

it('the same seed draws the same, another one does not', () => {
  const drawn = (seed: number) => {
    const random = openRandom(seed)
    return Array.from({ length: 50 }, () => random.weighted({ a: 1, b: 2, c: 3 })).join('')
  }
  expect(drawn(7)).toBe(drawn(7))
  expect(drawn(7)).not.toBe(drawn(8))
  expect(new Set(drawn(7))).toEqual(new Set(['a', 'b', 'c']))
})

it('a clean run has nothing to complain of', () => {
  expect(violations(CLEAN)).toEqual([])
  expect(table(CLEAN)).toContain('| charged twice | 0 |')
})

it.each([
  { duplicates: 1 },
  { losses: 1 },
  { contradictions: 1 },
  { discrepancies: 1 },
  { stuck: 1 },
  { shed: 1 },
  { irreparable: ['node killed: it did not come back'] },
  { faults: [{ ...CLEAN.faults[0]!, recoveredMs: null }] },
])('%o is a violation', (change) => {
  expect(violations({ ...CLEAN, ...change })).toHaveLength(1)
})

const answer = (status: number, body: object, headers = {}): Answer => {
  const bytes = Buffer.from(JSON.stringify(body))
  return { status, headers, bytes, json: <T>() => JSON.parse(bytes.toString()) as T }
}
const problem = (status: number, code: string) =>
  answer(status, { code }, { 'content-type': 'application/problem+json' })

it('forgets a key that had its answer, with what was promised; tells of an answer that contradicts', async () => {
  const journal = openJournal()
  const fine = journal.begin('order', 'key-1', '/api/orders', {})
  await journal.record(fine, {}, async () => answer(201, { id: 'ord_1' }))
  const bad = journal.begin('order', 'key-2', '/api/orders', {})
  await journal.record(bad, {}, async () => answer(201, { id: 'ord_2' }))
  await journal.record(bad, {}, async () => answer(201, { id: 'ord_3' }, { 'idempotent-replayed': 'true' }))
  const open = journal.begin('order', 'key-3', '/api/orders', {})
  await journal.record(open, {}, async () => problem(409, 'idempotency_key_in_progress'))
  expect(journal.forget(Number.POSITIVE_INFINITY)).toEqual({ orderIds: ['ord_1', 'ord_2'], refundIds: [] })
  expect(journal.open()).toEqual([open])
  expect(journal.contradictions()).toBe(1)
  expect(journal.wrong[0]).toContain('key-2')
})

it('tells of an answer that nobody should get', async () => {
  const journal = openJournal()
  const journey = journal.begin('order', 'key-1', '/api/orders', {})
  await journal.record(journey, {}, async () => problem(500, 'internal_error'))
  await journal.record(journey, {}, async () => problem(410, 'idempotency_key_expired'))
  expect(journal.contradictions()).toBe(2)
})
