// Evidence that comes late: stored, it settles before anything else is done with the key; and it contradicts a record
// that is final, whose answer stays.
import { describe, expect, it } from 'vitest'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { answerOf, charged, claimOf, declined, refused, timedOut, toldBy } from '../support/boundary'
import { move } from '../support/rows'
import { books, discrepancies, evidence, lateOwner, ref } from './late-owner'
import { bench, gateway, key, place } from './one-key'

describe('stored evidence of a charge that has not settled its record yet', () => {
  const told = async (attempt: number) => {
    const { id } = await bench.recordOf(key)
    const executed = { kind: 'succeeded', ref: ref('told') } as const
    return recordEvidence(
      { store: bench.store },
      {
        recordId: id,
        source: 'webhook',
        sourceId: `evt_${id}`,
        attempt,
        executed,
      },
    )
  }

  it('answers the next request of a failed_retryable key without a provider call', async () => {
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

  it('answers the next request of an unknown key', async () => {
    gateway.nextCall(timedOut)
    await place()
    await told(1)
    expect(toldBy(await place())).toBe('201 replayed')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: ref('told') })
  })

  it('settles the record once when many requests arrive together', async () => {
    gateway.nextCall(refused)
    await place()
    await told(1)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => place()))
    expect(outcomes.map(toldBy)).toEqual(Array(20).fill('201 replayed'))
    expect(new Set(outcomes.map((outcome) => answerOf(outcome).body)).size).toBe(1)
    expect(await books()).toHaveLength(1)
  })

  it('settles a failed_retryable key past its retention, and restarts the retention', async () => {
    gateway.nextCall(refused)
    await place()
    await bench.endRetention(key)
    await told(1)
    expect(toldBy(await place())).toBe('201 replayed')
    expect((await bench.recordOf(key)).expires_at.getTime()).toBeGreaterThan(Date.now() + 3_600_000)
  })

  it('prevents a claim of the record', async () => {
    gateway.nextCall(refused)
    await place()
    await told(1)
    const record = await bench.recordOf(key)
    expect(await claimOf(bench, record)).toBeNull()
  })

  it('is stored once per source event, and raises the version once', async () => {
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

  it('returns the record’s state when delivered again, so that an interrupted settlement can go on', async () => {
    gateway.nextCall(timedOut)
    await place()
    await told(1)
    expect(await told(1)).toMatchObject({ state: 'unknown', attempt: 1 })
  })
})

describe('late evidence for a final record', () => {
  it('of a stale owner’s charge, against a stored decline, opens one discrepancy and keeps the answer', async () => {
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

  it('of a stale owner’s charge, against a different charge, opens a discrepancy', async () => {
    const first = await lateOwner(charged(ref('first')))
    gateway.nextCall(() => charged(ref('second')))
    expect(toldBy(await place())).toBe('201')
    expect(toldBy(await first.comesBack())).toBe('201 replayed')
    expect(await discrepancies()).toMatchObject([{ detail: { ref: ref('first'), effectRef: ref('second') } }])
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('second') }])
  })

  it('of a stale owner’s charge, for the same charge, opens no discrepancy', async () => {
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
  ])('of a stale owner’s call without a result changes nothing: %s', async (_, outcome) => {
    const first = await lateOwner(outcome())
    expect(toldBy(await place())).toBe('201')
    const before = await bench.recordOf(key)
    expect(toldBy(await first.comesBack())).toBe('201 replayed')
    expect(await bench.recordOf(key)).toEqual(before)
  })

  it('opens one discrepancy per charge, however many webhooks report it', async () => {
    gateway.nextCall(() => declined(ref('no')))
    await place()
    const { id } = await bench.recordOf(key)
    const executed = { kind: 'succeeded', ref: ref('yes') } as const
    for (const sourceId of [`evt_1_${id}`, `evt_1_${id}`, `evt_2_${id}`])
      await recordEvidence({ store: bench.store }, { recordId: id, source: 'webhook', sourceId, attempt: 1, executed })
    expect(await discrepancies()).toHaveLength(1)
    expect(await evidence()).toHaveLength(2)
  })

  it('opens a discrepancy for a tombstone and for a deleted record', async () => {
    gateway.nextCall(refused)
    await place()
    const { id } = await bench.recordOf(key)
    const tell = (name: string) =>
      recordEvidence(
        { store: bench.store },
        {
          recordId: id,
          source: 'webhook',
          sourceId: `evt_${name}_${id}`,
          attempt: 1,
          executed: { kind: 'succeeded', ref: ref(name) },
        },
      )
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
