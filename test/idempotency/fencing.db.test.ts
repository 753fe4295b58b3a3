// A late owner changes nothing. What it learned is kept as evidence: it settles a record that nobody owns, and waits
// for the owner of one that is claimed again.
import { describe, expect, it } from 'vitest'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import type { Called } from '../support/boundary'
import {
  answerOf,
  barrier,
  charged,
  connectionLost,
  declined,
  isSettle,
  refused,
  storeOn,
  tampered,
  timedOut,
  toldBy,
} from '../support/boundary'
import { move } from '../support/rows'
import {
  books,
  discrepancies,
  events,
  evidence,
  type Late,
  lateOwner,
  leaseRunsOut,
  ownerInCall,
  ref,
} from './late-owner'
import { bench, gateway, key, place } from './one-key'

describe('a fenced owner of a record whose outcome is unknown', () => {
  it('settles the record with the charge that it learned of, and answers its client with a replay', async () => {
    const late = await ownerInCall(charged(ref('late')))
    await leaseRunsOut()
    const outcome = await late.comesBack()
    expect(toldBy(outcome)).toBe('201 replayed')
    expect(JSON.parse(answerOf(outcome).body).payment.providerRef).toBe(ref('late'))
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: ref('late'), attempt: 1 })
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('late') }])
    expect(await evidence()).toEqual([{ source: 'late_owner', attempt: 1, verdict: 'succeeded' }])
    expect(await events()).toEqual(['reserved', 'lease_over', 'evidence', 'settled'])
    expect(await discrepancies()).toEqual([])
    const retry = await place()
    expect(toldBy(retry)).toBe('201 replayed')
    expect(answerOf(retry)).toEqual(answerOf(outcome))
    expect(gateway.calls).toHaveLength(1)
  })

  it('settles the record with a decline when no other attempt can have called the provider', async () => {
    const late = await ownerInCall(declined(ref('no')))
    await leaseRunsOut()
    expect(toldBy(await late.comesBack())).toBe('402 replayed')
    expect(await books()).toEqual([{ status: 'declined', ledger: 'failed', ref: ref('no') }])
  })

  it.each([
    ['refused', refused],
    ['timed out', timedOut],
  ])('changes nothing when its call brings no outcome: %s', async (_, outcome) => {
    const late = await ownerInCall(outcome())
    await leaseRunsOut()
    const before = await bench.recordOf(key)
    expect(toldBy(await late.comesBack())).toBe('unknown')
    expect(await bench.recordOf(key)).toEqual(before)
    expect(await evidence()).toEqual([])
  })

  it('settles the record although the store fails between storing the evidence and settling', async () => {
    let losses = 0
    const store = tampered(bench.store, (send, statement) => {
      // the owner's own settle is fenced; the one after it carries the evidence
      if (isSettle(statement) && ++losses === 2) throw connectionLost()
      return send()
    })
    const late = await ownerInCall(charged(ref('torn')), { boundary: { ...bench.boundary, store } })
    await leaseRunsOut()
    expect(toldBy(await late.comesBack())).toBe('201 replayed')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: ref('torn') })
    expect(await evidence()).toHaveLength(1)
  })
})

describe('a fenced owner whose record is deleted', () => {
  /** The reaper's work, whole retentions later. */
  async function reaped(): Promise<void> {
    const { id } = await bench.recordOf(key)
    await move(bench.db, id, 'expired')
    await bench.rows('DELETE FROM idempotency_records WHERE id = $1', [id])
  }

  it('gets the answer that the key has expired, and neither takes the key nor calls the provider again', async () => {
    const late = await lateOwner(timedOut())
    await reaped()
    expect(toldBy(await late.comesBack())).toBe('expired')
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.rows('SELECT id FROM idempotency_records WHERE key = $1', [key])).toEqual([])
    expect(toldBy(await place())).toBe('201')
  })
})

describe('a fenced owner of a record that is failed_retryable', () => {
  it('settles the record with its charge, so that the next request gets a replay without a provider call', async () => {
    const late = await lateOwner(charged(ref('late')))
    expect(toldBy(await late.comesBack())).toBe('201 replayed')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: ref('late') })
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('late') }])
    expect(await events()).toEqual(['reserved', 'lease_over', 'released', 'evidence', 'settled'])
    expect(toldBy(await place())).toBe('201 replayed')
    expect(gateway.calls).toHaveLength(1)
    expect(gateway.lookUps).toEqual([])
  })

  it.each([
    ['refused', refused],
    ['timed out', timedOut],
  ])('changes nothing and calls the provider no more when its call brings no outcome: %s', async (_, outcome) => {
    const late = await lateOwner(outcome())
    expect(toldBy(await late.comesBack())).toBe('not_executed')
    expect(await events()).toEqual(['reserved', 'lease_over', 'released'])
    expect(await evidence()).toEqual([])
    expect(gateway.calls).toHaveLength(1)
    expect(toldBy(await place())).toBe('201')
  })

  it('stores its decline as evidence without changing the state, and the next request runs again', async () => {
    const late = await lateOwner(declined(ref('no')))
    expect(toldBy(await late.comesBack())).toBe('not_executed')
    expect(await evidence()).toEqual([{ source: 'late_owner', attempt: 1, verdict: 'declined' }])
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 1 })
    expect(toldBy(await place())).toBe('201')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', attempt: 2 })
    expect(gateway.lookUps).toHaveLength(1)
    expect(await discrepancies()).toEqual([])
  })
})

describe('a fenced owner of a record that a second attempt has claimed', () => {
  /** The second attempt, held in its look-up. */
  async function secondInLookUp(): Promise<Late> {
    const lookUp = barrier()
    gateway.nextLookUp(async () => {
      await lookUp.pass()
      return { kind: 'not_found' }
    })
    const second = place()
    await lookUp.reached
    return {
      comesBack() {
        lookUp.open()
        return second
      },
    }
  }

  it('leaves its charge to the second attempt, which settles with it without calling the provider', async () => {
    const first = await lateOwner(charged(ref('first')))
    const second = await secondInLookUp()
    expect(toldBy(await first.comesBack())).toBe('in_progress')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'in_progress', attempt: 2, effect_evidence: true })
    expect(toldBy(await place())).toBe('in_progress')
    expect(toldBy(await second.comesBack())).toBe('201')
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', effect_ref: ref('first'), attempt: 2 })
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('first') }])
    expect(await discrepancies()).toEqual([])
  })

  it('leaves its charge to the next request when the second attempt’s lease runs out', async () => {
    const first = await lateOwner(charged(ref('first')))
    const second = await secondInLookUp()
    await first.comesBack()
    await bench.endLease(key)
    expect(toldBy(await place())).toBe('201 replayed')
    expect(gateway.calls).toHaveLength(1)
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('first') }])
    expect(toldBy(await second.comesBack())).toBe('201 replayed')
    expect(gateway.calls).toHaveLength(1)
  })

  it('waits like a duplicate request, and gets the second attempt’s answer as a replay', async () => {
    const first = await lateOwner(charged(ref('first')), { waitMs: 20_000 })
    const second = await secondInLookUp()
    const waiting = first.comesBack()
    await untilAwaited()
    const [firstTold, secondTold] = await Promise.all([waiting, second.comesBack()])
    expect(toldBy(secondTold)).toBe('201')
    expect(toldBy(firstTold)).toBe('201 replayed')
    expect(answerOf(firstTold)).toEqual(answerOf(secondTold))
  })

  it('stores its decline as evidence, which does not stop the second attempt from calling the provider', async () => {
    const first = await lateOwner(declined(ref('no')))
    const second = await secondInLookUp()
    expect(toldBy(await first.comesBack())).toBe('in_progress')
    expect(await evidence()).toEqual([{ source: 'late_owner', attempt: 1, verdict: 'declined' }])
    expect(toldBy(await second.comesBack())).toBe('201')
    expect(gateway.calls).toHaveLength(2)
  })

  it('leaves the outcome unknown when it learned of a decline and the second attempt timed out', async () => {
    const first = await lateOwner(declined(ref('no')))
    gateway.nextCall(timedOut)
    expect(toldBy(await place())).toBe('outcome_unknown')
    expect(toldBy(await first.comesBack())).toBe('unknown')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', attempt: 2 })
  })

  describe('while the second attempt is calling the provider', () => {
    async function bothCalled(secondOutcome: Called) {
      const first = await lateOwner(charged(ref('first')))
      const second = await ownerInCall(secondOutcome)
      expect(toldBy(await first.comesBack())).toBe('in_progress')
      const outcome = await second.comesBack()
      return { outcome, record: await bench.recordOf(key) }
    }

    it('opens no discrepancy when both attempts name the same charge', async () => {
      const { outcome, record } = await bothCalled(charged(ref('first')))
      expect(toldBy(outcome)).toBe('201')
      expect(record).toMatchObject({ state: 'completed', effect_ref: ref('first') })
      expect(await discrepancies()).toEqual([])
    })

    it('opens a discrepancy when each attempt has a charge of its own', async () => {
      const { outcome, record } = await bothCalled(charged(ref('second')))
      expect(toldBy(outcome)).toBe('201')
      expect(record).toMatchObject({ state: 'completed', effect_ref: ref('second') })
      expect(await discrepancies()).toMatchObject([
        {
          kind: 'contradicting_evidence',
          detail: { ref: ref('first'), effectRef: ref('second'), verdict: 'succeeded' },
        },
      ])
    })

    it.each([
      ['is declined', declined],
      ['is refused', refused],
      ['times out', timedOut],
    ])('has the record settled with its own charge when the second call %s', async (_, secondOutcome) => {
      const { outcome, record } = await bothCalled(secondOutcome())
      expect(toldBy(outcome)).toMatch(/^201/)
      expect(record).toMatchObject({ state: 'completed', response_status: 201, effect_ref: ref('first') })
      expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('first') }])
      expect(toldBy(await place())).toBe('201 replayed')
    })
  })

  it('has one discrepancy when evidence of its charge commits while the second attempt waits to settle', async () => {
    const first = await lateOwner(charged(ref('first')))
    const second = await ownerInCall(charged(ref('second')))
    const transaction = await bench.transaction()
    await recordEvidence(
      { store: storeOn(transaction) },
      {
        recordId: (await bench.recordOf(key)).id,
        source: 'webhook',
        sourceId: `evt_${key}`,
        attempt: 1,
        executed: { kind: 'succeeded', ref: ref('first') },
      },
    )
    const settling = second.comesBack()
    await bench.untilBlocked(1)
    await transaction.query('COMMIT')
    transaction.release()
    expect(toldBy(await settling)).toBe('201')
    expect(await discrepancies()).toMatchObject([{ detail: { ref: ref('first'), effectRef: ref('second') } }])
    await first.comesBack()
    expect(await discrepancies()).toHaveLength(1)
  })

  const untilAwaited = async () => {
    while (!(await bench.recordOf(key)).awaited);
  }
})
