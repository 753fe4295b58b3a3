// Evidence that arrives at the very moment when somebody moves the record is never lost: either the mover sees it in
// the row, or whoever keeps it sees what the mover made of the row.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../lib/db/store'
import { endLeases } from '../../lib/idempotency/store/end-lease'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { markUnknown } from '../../lib/idempotency/store/mark-unknown'
import { release } from '../../lib/idempotency/store/release'
import { applyProviderEvent } from '../../lib/reconciliation/evidence'
import { reported, storeOn, toldBy } from '../support/boundary'
import { LOST, type Meeting, type OneKey, openMeeting } from './meeting'

let meeting: Meeting
beforeAll(async () => {
  meeting = await openMeeting()
})
afterAll(() => meeting.bench.close())

let one: OneKey
beforeEach(() => {
  one = meeting.begin()
})

/** The statements of one party, sent and not committed yet. */
async function uncommitted<T>(work: (store: Store) => Promise<T>) {
  const transaction = await meeting.bench.transaction()
  const done = await work(storeOn(transaction) as Store)
  return {
    done,
    async end(how: 'COMMIT' | 'ROLLBACK' = 'COMMIT') {
      await transaction.query(how)
      transaction.release()
    },
  }
}

/** The owner is held with the answer on its way back; the charge is made. */
async function inCall() {
  const call = one.provider.hold('called')
  one.provider.answerCallWith(LOST)
  const owner = one.request()
  await call.reached
  return { call, owner }
}

const keeping = async (store: Store) => {
  const [charge] = await one.charges()
  return recordEvidence(
    { store },
    {
      recordId: await one.idOf(),
      source: 'webhook',
      sourceId: `evt_${one.key}`,
      attempt: null,
      executed: { kind: 'succeeded', ref: charge!.ref },
    },
  )
}

describe('evidence that is being written while the owner gives up', () => {
  it('is waited for by the owner, which settles with it', async () => {
    const { call, owner } = await inCall()
    const evidence = await uncommitted(keeping)
    call.open()
    await meeting.bench.untilBlocked(1)
    await evidence.end()
    expect(toldBy(await owner)).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('settles the record when it is rolled back and delivered again', async () => {
    const { call, owner } = await inCall()
    const evidence = await uncommitted(keeping)
    call.open()
    await meeting.bench.untilBlocked(1)
    await evidence.end('ROLLBACK')
    expect(toldBy(await owner)).toBe('outcome_unknown')
    expect(await one.webhook()).toBe('settled')
    await one.expectOneCharge()
  })
})

describe('evidence that arrives during an uncommitted state change', () => {
  it('waits for the owner that gives up, then settles the unknown outcome', async () => {
    const { call, owner } = await inCall()
    const recordId = await one.idOf()
    const move = await uncommitted((store) =>
      markUnknown({ store }, { recordId, attempt: 1, code: 'timeout', nodeId: 'node-1' }),
    )
    expect(move.done).toMatchObject({ hasEvidence: false })
    const webhook = one.webhook()
    await meeting.bench.untilBlocked(1)
    await move.end()
    expect(await webhook).toBe('settled')
    await one.expectOneCharge()
    call.open()
    expect(toldBy(await owner)).toBe('201 replayed')
  })

  it('waits for the sweeper, then settles the unknown outcome', async () => {
    const { call, owner } = await inCall()
    await meeting.bench.endLease(one.key)
    const move = await uncommitted((store) => endLeases({ store }, { limit: 10, by: 'sweeper' }))
    expect(move.done).toMatchObject([{ state: 'unknown', hasEvidence: false }])
    const webhook = one.webhook()
    await meeting.bench.untilBlocked(1)
    await move.end()
    expect(await webhook).toBe('settled')
    await one.expectOneCharge()
    call.open()
    expect(toldBy(await owner)).toBe('201 replayed')
  })

  it('waits for the reconciler that releases the key as not executed, then settles the record', async () => {
    one.provider.answerCallWith(LOST)
    await one.told()
    const recordId = await one.idOf()
    const event = { event: 'released', by: 'reconciler' } as const
    const move = await uncommitted((store) =>
      release({ store }, { recordId, from: 'unknown', attempt: 1, code: 'not_executed', event }),
    )
    expect(move.done).not.toBeNull()
    const webhook = one.webhook()
    await meeting.bench.untilBlocked(1)
    await move.end()
    expect(await webhook).toBe('settled')
    await one.expectOneCharge()
  })

  it('waits for the deletion of the record, then is reported as a discrepancy', async () => {
    await one.told()
    const recordId = await one.idOf()
    await meeting.bench.endRetention(one.key)
    await one.reap()
    const transaction = await meeting.bench.transaction()
    await transaction.query('DELETE FROM idempotency_records WHERE id = $1', [recordId])
    const webhook = one.webhook({ ref: `ch_second_${one.key}` })
    await meeting.bench.untilBlocked(1)
    await transaction.query('COMMIT')
    transaction.release()
    expect(await webhook).toBe('record_gone')
    expect(await meeting.bench.rows('SELECT kind FROM discrepancies WHERE record_id = $1', [recordId])).toEqual([
      { kind: 'contradicting_evidence' },
    ])
  })
})

describe('evidence that arrives before the reservation is committed', () => {
  it('is reported as a discrepancy, and the reconciler settles the record all the same', async () => {
    const transaction = await meeting.bench.transaction()
    const call = one.provider.hold('called')
    one.provider.answerCallWith(LOST)
    const boundary = { ...meeting.bench.boundary, store: storeOn(transaction) as Store }
    const owner = one.request({ boundary })
    await call.reached
    const [charge] = await one.charges()
    const event = {
      id: `evt_${one.key}`,
      providerKey: charge!.provider_key,
      outcome: reported(charge!.ref),
    } as const
    expect(await applyProviderEvent(meeting.bench.boundary, one.operations, event)).toBe('record_gone')
    call.open()
    await owner
    await transaction.query('COMMIT')
    transaction.release()
    expect(await one.discrepancies()).toMatchObject([{ kind: 'contradicting_evidence', detail: { state: null } }])
    expect(await one.reconcile()).toMatchObject({ state: 'completed', settled: true })
    expect(await one.charges()).toHaveLength(1)
    expect(await one.told()).toBe('201 replayed')
  })
})

describe('identical webhooks at once', () => {
  it('are stored once and settle once when there are two, and both deliveries succeed', async () => {
    one.provider.answerCallWith(LOST)
    await one.told()
    const first = await uncommitted(keeping)
    const both = [one.webhook({ id: `evt_${one.key}` }), one.webhook({ id: `evt_${one.key}` })]
    await meeting.bench.untilBlocked(2)
    await first.end()
    expect((await Promise.all(both)).sort()).toEqual(['kept', 'settled'])
    expect(await meeting.bench.rows('SELECT 1 FROM evidence WHERE record_id = $1', [await one.idOf()])).toHaveLength(1)
    const { timeline } = await one.record()
    expect(timeline.map(({ event }) => event)).toEqual(['reserved', 'outcome_unknown', 'evidence', 'settled'])
    await one.expectOneCharge()
  })

  it('settle once when there are twenty', async () => {
    one.provider.answerCallWith(LOST)
    await one.told()
    const all = await Promise.all(Array.from({ length: 20 }, () => one.webhook({ id: `evt_${one.key}` })))
    expect(all.filter((applied) => applied === 'settled')).toHaveLength(1)
    await one.expectOneCharge()
  })
})
