// A person's word for an unknown outcome: when it is refused, and what it does when it is not.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { migrateJobs } from '../../lib/jobs/worker'
import { isRefused } from '../../lib/operators/refusal'
import type { LookUpOutcome } from '../../lib/payments/gateway'
import type { Decision } from '../../lib/reconciliation/resolve'
import {
  answerOf,
  type Bench,
  barrier,
  charged,
  found,
  newKey,
  openBench,
  orderOf,
  timedOut,
  toldBy,
} from '../support/boundary'
import { type Desk, OLGA, openDesk, REASON, UNREACHABLE, VERA } from './desk'

let bench: Bench
let desk: Desk

beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
})
afterAll(() => bench?.close())
beforeEach(() => {
  desk = openDesk(bench)
})

type Asked = Pick<Decision, 'id' | 'version'> & Partial<Decision>
const resolve = (asked: Asked) =>
  desk.resolveKey(OLGA, { verdict: 'succeeded', providerRef: `ch_${asked.id}`, reason: REASON, ...asked })
const says = (...outcomes: LookUpOutcome[]) => desk.gateway.nextLookUp(...outcomes.map((outcome) => () => outcome))
const ledgerOf = (recordId: string) =>
  bench.rows<{ provider_ref: string; status: string }>(
    'SELECT provider_ref, status FROM ledger_entries WHERE record_id = $1',
    [recordId],
  )

describe('an operator’s verdict on an unknown outcome', () => {
  it('is checked in this order: reference, record, version, state, settle window, provider', async () => {
    const key = await desk.unknown()
    const nobody = 'idem_00000000000000000000000000'
    const wrongRef = { verdict: 'succeeded', providerRef: undefined } as const
    expect(await resolve({ id: nobody, version: 9, ...wrongRef })).toMatchObject({ refused: 'invalid_request' })
    expect(await resolve({ id: nobody, version: 9 })).toMatchObject({ refused: 'not_found' })
    const late = { verdict: 'not_executed', providerRef: undefined } as const
    expect(await resolve({ ...key, version: key.version - 1, ...late })).toMatchObject({
      refused: 'changed_since_loaded',
      current: { state: 'unknown', version: key.version },
    })
    expect(await resolve({ ...key, ...late })).toMatchObject({ refused: 'settle_window_open' })
    await desk.pastSettleWindow(key.key)
    says(found('ch_other'))
    expect(await resolve({ ...key, ...late })).toMatchObject({ refused: 'contradicts_provider' })
    says(UNREACHABLE)
    const done = await resolve({ ...key, ...late })
    expect(done).toMatchObject({ state: 'failed_retryable', version: key.version + 1 })
    expect(await resolve({ ...key, ...late })).toMatchObject({ refused: 'changed_since_loaded' })
    expect(await resolve({ ...key, ...late, version: key.version + 1 })).toMatchObject({ refused: 'not_resolvable' })
    expect(desk.gateway.lookUps).toHaveLength(2)
  })

  it('is refused for a key that is in progress and for a key whose answer is stored', async () => {
    const call = barrier()
    desk.gateway.nextCall(() => call.pass().then(() => charged()))
    const key = newKey()
    const owner = bench.place(desk.gateway, orderOf(), { key })
    await call.reached
    const held = await bench.recordOf(key)
    expect(await resolve(held)).toMatchObject({ refused: 'not_resolvable' })
    call.open()
    await owner
    expect(await resolve(await bench.recordOf(key))).toMatchObject({ refused: 'not_resolvable' })
    expect(desk.gateway.lookUps).toHaveLength(0)
  })

  it('changes neither record, evidence, ledger nor audit log when it is refused', async () => {
    const key = await desk.unknown()
    const before = await bench.recordOf(key.key)
    says({ kind: 'not_found' })
    expect(await resolve(key)).toMatchObject({ refused: 'contradicts_provider' })
    expect(await bench.recordOf(key.key)).toEqual(before)
    expect(await ledgerOf(key.id)).toEqual([])
    expect(await bench.rows('SELECT 1 FROM evidence WHERE record_id = $1', [key.id])).toEqual([])
    expect(await desk.audit(key.id)).toEqual([])
    expect(desk.observed).not.toContain('reconcile_resolved')
  })

  it('is forbidden for a viewer and audited, and the provider is not asked', async () => {
    const key = await desk.unknown()
    const asked = { id: key.id, version: key.version, verdict: 'declined', reason: REASON } as const
    expect(await desk.resolveKey(VERA, asked)).toMatchObject({ refused: 'forbidden' })
    expect(await desk.audit(key.id)).toMatchObject([
      { actor_id: 'opr_vera', action: 'key.resolve', outcome: 'forbidden' },
    ])
    expect(desk.gateway.lookUps).toHaveLength(0)
  })

  it('is refused with what the provider reports instead when the two contradict each other', async () => {
    const key = await desk.unknown()
    const detailOf = async (outcome: LookUpOutcome, asked: Partial<Decision> = {}) => {
      says(outcome)
      const refused = await resolve({ ...key, ...asked })
      return isRefused(refused) ? refused.detail : undefined
    }
    expect(await detailOf(found('ch_real'))).toContain('ch_real')
    expect(await detailOf({ kind: 'declined', providerRef: 'ch_declined' })).toMatch(/declined.*ch_declined/)
    expect(await detailOf({ kind: 'not_found' })).toContain('nothing for this key')
    expect(await detailOf({ kind: 'pending', providerRef: 'ch_p' })).toContain('not decided')
    expect(await detailOf(found('ch_real'), { verdict: 'declined', providerRef: undefined })).toContain('ch_real')
  })

  it('of “not executed” is invalid when it names a provider reference', async () => {
    const key = await desk.unknown()
    expect(await resolve({ ...key, verdict: 'not_executed' })).toMatchObject({
      refused: 'invalid_request',
      issues: [{ path: 'providerRef' }],
    })
  })

  it('is refused and changes nothing when another record has booked its provider reference', async () => {
    const [first, second] = [await desk.unknown(), await desk.unknown()]
    says(UNREACHABLE, UNREACHABLE)
    await resolve({ ...first, providerRef: 'ch_shared' })
    const before = await bench.recordOf(second.key)
    expect(await resolve({ ...second, providerRef: 'ch_shared' })).toMatchObject({ refused: 'provider_ref_taken' })
    expect(await bench.recordOf(second.key)).toEqual(before)
    expect(await desk.audit(second.id)).toEqual([])
  })
})

/** What the provider may say to a person who names the reference `mine`. */
const ANSWERS: Record<string, (mine: string) => LookUpOutcome> = {
  'succeeded, same reference': (mine) => found(mine),
  'succeeded, other reference': (mine) => found(`not_${mine}`),
  declined: (mine) => ({ kind: 'declined', providerRef: `no_${mine}` }),
  'not found': () => ({ kind: 'not_found' }),
  pending: (mine) => ({ kind: 'pending', providerRef: mine }),
  unreachable: () => UNREACHABLE,
}
/** What each verdict does with each answer of the provider, with the settle window over. */
const GRID: Record<Decision['verdict'], Record<string, string>> = {
  succeeded: {
    'succeeded, same reference': 'completed 201',
    'succeeded, other reference': 'contradicts_provider',
    declined: 'contradicts_provider',
    'not found': 'contradicts_provider',
    pending: 'contradicts_provider',
    unreachable: 'completed 201',
  },
  declined: {
    'succeeded, same reference': 'contradicts_provider',
    'succeeded, other reference': 'contradicts_provider',
    declined: 'completed 402',
    'not found': 'contradicts_provider',
    pending: 'contradicts_provider',
    unreachable: 'completed 402',
  },
  not_executed: {
    'succeeded, same reference': 'contradicts_provider',
    'succeeded, other reference': 'contradicts_provider',
    declined: 'contradicts_provider',
    'not found': 'failed_retryable',
    pending: 'contradicts_provider',
    unreachable: 'failed_retryable',
  },
}

describe.each(Object.keys(GRID) as Decision['verdict'][])('an operator’s verdict %s', (verdict) => {
  it.each(Object.entries(ANSWERS))('is accepted unless the provider contradicts it: %s', async (name, answer) => {
    const key = await desk.unknown()
    await desk.pastSettleWindow(key.key)
    const mine = `ch_${key.id}`
    says(answer(mine))
    const outcome = await resolve({ ...key, verdict, providerRef: verdict === 'succeeded' ? mine : undefined })
    const told = isRefused(outcome)
      ? outcome.refused
      : [outcome.state, outcome.response?.status].filter(Boolean).join(' ')
    expect(told).toBe(GRID[verdict][name])
    expect(desk.gateway.lookUps).toHaveLength(1)
  })
})

describe('an operator’s verdict “succeeded”', () => {
  it('stores the answer, books the charge, and writes the evidence and the audit entry', async () => {
    const key = await desk.unknown()
    says(UNREACHABLE)
    const record = await resolve({ ...key, providerRef: 'ch_word' })
    expect(record).toMatchObject({ state: 'completed', version: key.version + 1, response: { status: 201 } })
    expect(await ledgerOf(key.id)).toEqual([{ provider_ref: 'ch_word', status: 'succeeded' }])
    const { timeline } = await bench.recordOf(key.key)
    expect(timeline.at(-1)).toMatchObject({
      event: 'settled',
      by: 'operator:opr_olga',
      verdict: 'succeeded',
      requestId: 'req_olga',
    })
    expect(
      await bench.rows('SELECT source, verdict, attempt, detail FROM evidence WHERE record_id = $1', [key.id]),
    ).toEqual([
      {
        source: 'operator',
        verdict: 'succeeded',
        attempt: 1,
        detail: { ref: 'ch_word', reason: REASON, by: 'opr_olga', provider: 'unreachable' },
      },
    ])
    expect(await desk.audit(key.id)).toEqual([
      {
        actor_id: 'opr_olga',
        action: 'key.resolve',
        target: key.id,
        outcome: 'done',
        reason: REASON,
        before: { state: 'unknown', version: key.version },
        after: { state: 'completed', version: key.version + 1, verdict: 'succeeded', providerRef: 'ch_word' },
        request_id: 'req_olga',
      },
    ])
    expect(desk.observed).toContain('reconcile_resolved')
    const replay = await bench.place(desk.gateway, key.body, { key: key.key })
    expect(toldBy(replay)).toBe('201 replayed')
    expect(JSON.parse(answerOf(replay).body).payment.providerRef).toBe('ch_word')
  })

  it('settles a dead-lettered record', async () => {
    const key = await desk.unknown()
    await bench.rows(`UPDATE idempotency_records SET dead_lettered_at = now(), reconcile_after = NULL WHERE id = $1`, [
      key.id,
    ])
    says(UNREACHABLE)
    expect(await resolve(key)).toMatchObject({ state: 'completed', deadLetteredAt: null })
  })

  it('for a refund turns the held amount of the order into a refunded amount', async () => {
    const { id, version, orderId } = await desk.unknownRefund(400, 1000)
    says(UNREACHABLE)
    await resolve({ id, version, providerRef: 're_word' })
    expect(await bench.rows('SELECT status, held_cents, refunded_cents FROM orders WHERE id = $1', [orderId])).toEqual([
      { status: 'partially_refunded', held_cents: '0', refunded_cents: '400' },
    ])
  })
})

describe('an operator’s verdict “declined”', () => {
  const declined = { verdict: 'declined', providerRef: undefined } as const

  it('books the reference that the provider reports', async () => {
    const key = await desk.unknown()
    says({ kind: 'declined', providerRef: 'ch_no' })
    await resolve({ ...key, ...declined })
    expect(await ledgerOf(key.id)).toEqual([{ provider_ref: 'ch_no', status: 'failed' }])
    expect(await bench.rows('SELECT status FROM orders WHERE record_id = $1', [key.id])).toEqual([
      { status: 'declined' },
    ])
  })

  it('is refused when it names another reference than the provider’s', async () => {
    const key = await desk.unknown()
    says({ kind: 'declined', providerRef: 'ch_no' })
    expect(await resolve({ ...key, verdict: 'declined', providerRef: 'ch_typo' })).toMatchObject({
      refused: 'contradicts_provider',
    })
  })

  it('books a generated reference when the provider is unreachable', async () => {
    const key = await desk.unknown()
    says(UNREACHABLE)
    await resolve({ ...key, ...declined })
    expect(await ledgerOf(key.id)).toEqual([{ provider_ref: `unreferenced-${key.id}`, status: 'failed' }])
  })

  it('is refused for a second attempt until the settle window is over', async () => {
    const body = orderOf()
    const key = newKey()
    desk.gateway.nextCall(() => ({ kind: 'not_executed', code: 'refused' }), timedOut)
    await bench.place(desk.gateway, body, { key })
    await bench.place(desk.gateway, body, { key })
    const { id, version, attempt } = await bench.recordOf(key)
    expect(attempt).toBe(2)
    expect(await resolve({ id, version, ...declined })).toMatchObject({ refused: 'settle_window_open' })
    await desk.pastSettleWindow(key)
    says(UNREACHABLE)
    expect(await resolve({ id, version, ...declined })).toMatchObject({ state: 'completed' })
  })

  it('for a refund releases the held amount', async () => {
    const { id, version, orderId } = await desk.unknownRefund(400)
    says(UNREACHABLE)
    await resolve({ id, version, ...declined })
    expect(await bench.rows('SELECT held_cents, refunded_cents FROM orders WHERE id = $1', [orderId])).toEqual([
      { held_cents: '0', refunded_cents: '0' },
    ])
  })
})

describe('an operator’s verdict “not executed”', () => {
  const nothing = { verdict: 'not_executed', providerRef: undefined } as const

  it('lets the client’s retry with the same key call the provider again and succeed', async () => {
    const key = await desk.unknown()
    await desk.pastSettleWindow(key.key)
    says(UNREACHABLE)
    expect(await resolve({ ...key, ...nothing })).toMatchObject({
      state: 'failed_retryable',
      lastErrorCode: 'not_executed',
    })
    expect(toldBy(await bench.place(desk.gateway, key.body, { key: key.key }))).toBe('201')
    expect(desk.gateway.calls).toHaveLength(2)
  })

  it('for an accepted (202) request enqueues its job again, which then completes it', async () => {
    const key = await desk.unknownAccepted()
    await desk.pastSettleWindow(key.key)
    await bench.rows('DELETE FROM graphile_worker._private_jobs')
    says({ kind: 'not_found' })
    await resolve({ id: key.id, version: key.version, ...nothing })
    expect(await bench.rows('SELECT key FROM graphile_worker.jobs')).toEqual([{ key: key.id }])
    await runAcceptedJob(desk.boundary, desk.operations, key.id)
    expect(await bench.recordOf(key.key)).toMatchObject({ state: 'completed', attempt: 2, response_status: 201 })
  })

  it('for a refund releases the held amount and the refund', async () => {
    const { key, id, version, orderId } = await desk.unknownRefund(400)
    await desk.pastSettleWindow(key)
    says({ kind: 'not_found' })
    await resolve({ id, version, ...nothing })
    expect(await bench.rows('SELECT held_cents FROM orders WHERE id = $1', [orderId])).toEqual([{ held_cents: '0' }])
    expect(await bench.rows('SELECT status FROM refunds WHERE record_id = $1', [id])).toEqual([{ status: 'released' }])
  })
})

describe('stored evidence of a charge', () => {
  /** Told of it, and whoever was told did not live to settle with it. */
  async function told(ref: string) {
    const key = await desk.unknown()
    await desk.pastSettleWindow(key.key)
    const executed = { kind: 'succeeded', ref } as const
    await recordEvidence(
      { store: bench.store },
      { recordId: key.id, source: 'webhook', sourceId: ref, attempt: null, executed },
    )
    return { id: key.id, version: key.version + 1 }
  }

  it.each(['declined', 'not_executed'] as const)('refuses verdict %s without asking the provider', async (verdict) => {
    const refused = await resolve({ ...(await told(`ch_told_${verdict}`)), verdict, providerRef: undefined })
    expect(refused).toMatchObject({
      refused: 'contradicts_provider',
      detail: expect.stringContaining(`ch_told_${verdict}`),
    })
    expect(desk.gateway.lookUps).toHaveLength(0)
  })

  it('refuses a verdict that names another reference and accepts one that names its own', async () => {
    const key = await told('ch_told')
    expect(await resolve({ ...key, providerRef: 'ch_other' })).toMatchObject({ refused: 'contradicts_provider' })
    says(UNREACHABLE)
    expect(await resolve({ ...key, providerRef: 'ch_told' })).toMatchObject({ state: 'completed' })
    expect(await bench.rows('SELECT 1 FROM discrepancies WHERE record_id = $1', [key.id])).toEqual([])
  })
})

describe('the audit entry of an operator’s verdict', () => {
  it('is a condition: when it can’t be written, record, ledger and evidence stay unchanged', async () => {
    const key = await desk.unknown()
    const before = await bench.recordOf(key.key)
    await bench.rows('ALTER TABLE audit_head DISABLE TRIGGER ALL')
    await bench.rows('CREATE TABLE kept_head AS SELECT * FROM audit_head')
    await bench.rows('DELETE FROM audit_head')
    try {
      says(UNREACHABLE)
      await expect(resolve(key)).rejects.toThrow('the audit log has no head')
      expect(await bench.recordOf(key.key)).toEqual(before)
      expect(await ledgerOf(key.id)).toEqual([])
      expect(await bench.rows('SELECT 1 FROM evidence WHERE record_id = $1', [key.id])).toEqual([])
    } finally {
      await bench.rows('INSERT INTO audit_head SELECT * FROM kept_head')
      await bench.rows('DROP TABLE kept_head')
      await bench.rows('ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_moves')
      await bench.rows('ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_stays')
      await bench.rows('ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_no_truncate')
    }
  })
})
