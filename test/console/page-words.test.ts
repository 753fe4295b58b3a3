import { describe, expect, it } from 'vitest'
import { changesOf, targetHref } from '../../app/(console)/audit/entry-words'
import { difference, happened, partsOf, totalOf } from '../../app/(console)/maintenance/run-words'
import { retentionWords, shareOf } from '../../app/(console)/tenants/tenant-words'
import type { RunView } from '../../lib/maintenance/run-view'

describe('an entry of the audit log', () => {
  it('shows what changed, and nothing else', () => {
    const before = { name: 'acme', limit: 5, list: [1], gone: true }
    const after = { name: 'acme', limit: 6, list: [1], made: null }
    expect(changesOf({ before, after })).toEqual([
      { member: 'limit', before: '5', after: '6' },
      { member: 'gone', before: 'true', after: undefined },
      { member: 'made', before: undefined, after: 'null' },
    ])
    expect(changesOf({ before: null, after: null })).toEqual([])
  })

  it.each([
    ['idem_1', '/keys/idem_1'],
    ['ten_1', '/tenants/ten_1'],
    ['run_1', '/maintenance/runs/run_1'],
    ['opr_1', '/operators'],
    ['tok_1', '/operators'],
    ['dis_1', '/reconciliation'],
    ['ADMIN_TOKEN', null],
    [null, null],
  ])('about %s links to %s', (target, href) => {
    expect(targetHref({ target, before: null, after: null })).toBe(href)
  })

  it('about an API key links to its tenant if that is known', () => {
    expect(targetHref({ target: 'key_1', before: null, after: { tenantId: 'ten_1' } })).toBe('/tenants/ten_1#api-keys')
    expect(targetHref({ target: 'key_1', before: { tenantId: 'ten_1' }, after: {} })).toBe('/tenants/ten_1#api-keys')
    expect(targetHref({ target: 'key_1', before: null, after: null })).toBeNull()
  })
})

const runOf = (changes: Partial<RunView>): RunView => ({
  id: 'run_1',
  kind: 'reaper',
  action: null,
  dryRun: false,
  state: 'succeeded',
  done: 0,
  total: null,
  counts: {},
  sample: [],
  startedAt: new Date(0),
  finishedAt: null,
  requestedBy: 'opr_1',
  scheduled: false,
  reason: null,
  error: null,
  by: 'Mara',
  previewed: null,
  groups: [],
  stopping: false,
  lost: false,
  ...changes,
})

describe('a maintenance run', () => {
  it.each([
    [{ done: 68_987 }, '68,987'],
    [{ done: 112, state: 'running' }, '112 so far'],
    [{ done: 12, state: 'failed' }, '12, then failed'],
    [{ done: 12, state: 'aborted' }, '12, then stopped'],
    [{ done: 12, state: 'running', lost: true }, '12, then its node stopped'],
    [{ done: 2, kind: 'ledger' }, '2 findings'],
  ] as const)('of %o is described as “%s”', (changes, words) => {
    expect(happened(runOf(changes))).toBe(words)
  })

  it('shows how many fewer or more it did than its preview, once it has ended', () => {
    const previewed = { id: 'run_0', done: 10, counts: {} }
    expect(difference(runOf({ done: 7, previewed }))).toBe('3 fewer')
    expect(difference(runOf({ done: 12, previewed }))).toBe('2 more')
    expect(difference(runOf({ done: 10, previewed }))).toBe('none')
    expect(difference(runOf({ done: 10 }))).toBe('')
    expect(difference(runOf({ done: 3, previewed, state: 'running' }))).toBe('')
  })

  it('has its preview’s count as total, unless it has done more or has no preview', () => {
    const previewed = { id: 'run_0', done: 186, counts: {} }
    expect(totalOf(runOf({ done: 112, previewed, state: 'running' }))).toBe(186)
    expect(totalOf(runOf({ done: 200, previewed, state: 'running' }))).toBe(200)
    expect(totalOf(runOf({ done: 112, total: 112, previewed, state: 'aborted' }))).toBe(186)
    expect(totalOf(runOf({ done: 5, state: 'running' }))).toBeNull()
  })

  it('of look-ups is split into parts that add up to its done count', () => {
    const counts = { lookUps: 112, settled: 72, succeeded: 61, declined: 4, not_found: 29, unreachable: 18 }
    const parts = partsOf({ kind: 'reconciler', action: null, counts, done: 112 })
    expect(parts.map(({ word, n }) => [word, n])).toEqual([
      ['Completed', 65],
      ['Failed, retryable', 7],
      ['Unknown', 40],
    ])
    expect(parts[2]!.note).toBe('No proof: 22 not found yet, 18 without an answer')
    const bulk = partsOf({ kind: 'bulk', action: 'reconcile', counts: { lookUps: 2, errors: 1 }, done: 3 })
    expect(bulk.reduce((sum, { n }) => sum + n, 0)).toBe(3)
  })
})

describe('a tenant', () => {
  it.each([
    [null, 'as the endpoint'],
    [72, '3 d'],
    [24, '24 h'],
    [36, '36 h'],
    [0.5, '30 min'],
    [0.0003, '0.018 min'],
  ])('with a retention of %s h is described as “%s”', (hours, words) => {
    expect(retentionWords(hours)).toBe(words)
  })

  it('with a live-key cap of zero has used all of it', () => {
    expect(shareOf({ liveKeyCount: 0, liveKeyCap: 0 })).toBe(1)
    expect(shareOf({ liveKeyCount: 5, liveKeyCap: 10 })).toBe(0.5)
  })
})
