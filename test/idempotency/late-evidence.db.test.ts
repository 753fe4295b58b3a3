// Evidence that comes late: stored, it settles before anything else is done with the key; and it contradicts a record
// that is final, whose answer stays.
import { describe, expect, it } from 'vitest'
import { claim } from '../../lib/idempotency/sql/claim'
import { keepEvidence } from '../../lib/idempotency/sql/evidence'
import { answerOf, charged, declined, refused, timedOut, toldBy } from '../support/boundary'
import { move } from '../support/rows'
import { books, discrepancies, evidence, lateOwner, ref } from './late-owner'
import { bench, gateway, key, place } from './one-key'

describe('evidence of a charge that is stored and not settled with yet', () => {
  const told = async (attempt: number) => {
    const { id } = await bench.recordOf(key)
    const executed = { kind: 'succeeded', ref: ref('told') } as const
    return keepEvidence(bench.store, {
      recordId: id,
      source: 'webhook',
      sourceId: `evt_${id}`,
      attempt,
      executed,
    })
  }

  it('is what the next request of a failed_retryable key is answered with, without a call', async () => {
    gateway.nextCall(refused)
    await place()
    expect(await told(1)).toMatchObject({ state: 'failed_retryable', attempt: 1 })
    const outcome = await place()
    expect(toldBy(outcome)).toBe('201 replayed')
    expect(JSON.parse(answerOf(outcome).body).payment.providerRef).toBe(ref('told'))
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('told') }])
    expect(gateway.calls).toHaveLength(1)
    expect(gateway.lookUps).toEqual([])
  })

  it('is what the next request of an unknown key is answered with', async () => {
    gateway.nextCall(timedOut)
    await place()
    await told(1)
    expect(toldBy(await place())).toBe('201 replayed')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: ref('told') })
  })

  it('settles once, however many requests come for it at once', async () => {
    gateway.nextCall(refused)
    await place()
    await told(1)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => place()))
    expect(outcomes.map(toldBy)).toEqual(Array(20).fill('201 replayed'))
    expect(new Set(outcomes.map((outcome) => answerOf(outcome).body)).size).toBe(1)
    expect(await books()).toHaveLength(1)
  })

  it('settles a failed_retryable key that has run out, with all of its retention ahead', async () => {
    gateway.nextCall(refused)
    await place()
    await bench.endRetention(key)
    await told(1)
    expect(toldBy(await place())).toBe('201 replayed')
    expect((await bench.recordOf(key)).expires_at.getTime()).toBeGreaterThan(Date.now() + 3_600_000)
  })

  it('allows no claim', async () => {
    gateway.nextCall(refused)
    await place()
    await told(1)
    const { id, attempt } = await bench.recordOf(key)
    const claimed = await claim(bench.store, {
      recordId: id,
      from: 'failed_retryable',
      attempt,
      phase: { name: 'charging', external: true },
      leaseMs: 60_000,
      settleMs: 120_000,
      nodeId: 'node-1',
      requestId: 'req_1',
      effects: [],
      report: undefined,
    })
    expect(claimed).toBeNull()
  })

  it('counts once for its source, and raises the version once', async () => {
    gateway.nextCall(timedOut)
    await place()
    const before = await bench.recordOf(key)
    expect(await told(1)).toMatchObject({ state: 'unknown', attempt: 1 })
    await told(1)
    const after = await bench.recordOf(key)
    expect(after).toMatchObject({ effect_evidence: true, version: before.version + 1 })
    expect(after.timeline).toHaveLength(before.timeline.length + 1)
    expect(await evidence()).toHaveLength(1)
  })

  it('still tells whoever brings it again how the record is: the first time may have ended before it settled', async () => {
    gateway.nextCall(timedOut)
    await place()
    await told(1)
    expect(await told(1)).toMatchObject({ state: 'unknown', attempt: 1 })
  })
})

describe('a late owner of a record that is final', () => {
  it('contradicts a stored decline with its charge: one discrepancy, and the answer stays', async () => {
    const first = await lateOwner(charged(ref('first')))
    gateway.nextCall(() => declined(ref('second')))
    expect(toldBy(await place())).toBe('402')
    expect(toldBy(await first.comesBack())).toBe('402 replayed')
    expect(await discrepancies()).toMatchObject([
      {
        kind: 'contradicting_evidence',
        detail: {
          ref: ref('first'),
          verdict: 'succeeded',
          source: 'late_owner',
          state: 'completed',
          responseStatus: 402,
          effectRef: ref('second'),
        },
      },
    ])
    expect(toldBy(await place())).toBe('402 replayed')
    expect(await books()).toEqual([{ status: 'declined', ledger: 'failed', ref: ref('second') }])
  })

  it('contradicts another charge with its own', async () => {
    const first = await lateOwner(charged(ref('first')))
    gateway.nextCall(() => charged(ref('second')))
    expect(toldBy(await place())).toBe('201')
    expect(toldBy(await first.comesBack())).toBe('201 replayed')
    expect(await discrepancies()).toMatchObject([{ detail: { ref: ref('first'), effectRef: ref('second') } }])
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('second') }])
  })

  it('does not contradict the charge that it made itself', async () => {
    const first = await lateOwner(charged(ref('one')))
    gateway.nextCall(() => charged(ref('one')))
    expect(toldBy(await place())).toBe('201')
    expect(toldBy(await first.comesBack())).toBe('201 replayed')
    expect(await evidence()).toHaveLength(1)
    expect(await discrepancies()).toEqual([])
  })

  it.each([
    ['refused', refused],
    ['timed out', timedOut],
  ])('changes nothing where it learned nothing: %s', async (_, outcome) => {
    const first = await lateOwner(outcome())
    expect(toldBy(await place())).toBe('201')
    const before = await bench.recordOf(key)
    expect(toldBy(await first.comesBack())).toBe('201 replayed')
    expect(await bench.recordOf(key)).toEqual(before)
  })

  it('opens one discrepancy for one charge, whoever tells of it and how often', async () => {
    gateway.nextCall(() => declined(ref('no')))
    await place()
    const { id } = await bench.recordOf(key)
    const executed = { kind: 'succeeded', ref: ref('yes') } as const
    for (const sourceId of [`evt_1_${id}`, `evt_1_${id}`, `evt_2_${id}`])
      await keepEvidence(bench.store, { recordId: id, source: 'webhook', sourceId, attempt: 1, executed })
    expect(await discrepancies()).toHaveLength(1)
    expect(await evidence()).toHaveLength(2)
  })

  it('contradicts a tombstone, and a record that is gone', async () => {
    gateway.nextCall(refused)
    await place()
    const { id } = await bench.recordOf(key)
    const tell = (name: string) =>
      keepEvidence(bench.store, {
        recordId: id,
        source: 'webhook',
        sourceId: `evt_${name}_${id}`,
        attempt: 1,
        executed: { kind: 'succeeded', ref: ref(name) },
      })
    await move(bench.db, id, 'expired')
    expect(await tell('tombstone')).toMatchObject({ state: 'expired' })
    await bench.db.query('DELETE FROM idempotency_records WHERE id = $1', [id])
    expect(await tell('gone')).toBeNull()
    const opened = await bench.rows<{ ref: string }>(
      `SELECT detail->>'ref' AS ref FROM discrepancies WHERE record_id = $1 ORDER BY created_at`,
      [id],
    )
    expect(opened.map((row) => row.ref)).toEqual([ref('tombstone'), ref('gone')])
  })
})
