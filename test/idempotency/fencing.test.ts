// A late owner changes nothing. What it learned is kept as evidence: it settles a record that nobody owns, waits for
// the owner of one that is claimed again, and contradicts one that is final.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Outcome } from '../../lib/idempotency/run'
import { claim } from '../../lib/idempotency/sql/claim'
import { keepEvidence } from '../../lib/idempotency/sql/evidence'
import { release } from '../../lib/idempotency/sql/release'
import type { CallOutcome } from '../../lib/payments/gateway'
import {
  answerOf,
  type Barrier,
  type Bench,
  barrier,
  charged,
  connectionLost,
  declined,
  isSettle,
  newKey,
  openBench,
  orderOf,
  refused,
  type ScriptedGateway,
  scriptedGateway,
  storeOn,
  tampered,
  timedOut,
  toldBy,
} from '../support/boundary'
import { move } from '../support/rows'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

let gateway: ScriptedGateway
let key: string
let body: ReturnType<typeof orderOf>
beforeEach(() => {
  gateway = scriptedGateway()
  key = newKey()
  body = orderOf()
})

/** Of the provider: unique in the ledger. */
const ref = (name: string) => `ch_${name}_${key}`

const place = (asking = {}) => bench.place(gateway, body, { key, ...asking })

interface Late {
  /** Lets the provider's answer through and gives what the owner then tells its client. */
  comesBack(): Promise<Outcome>
}

/** An owner that is held in its call, about to learn the outcome. */
async function ownerInCall(outcome: CallOutcome, asking = {}): Promise<Late> {
  const call: Barrier = barrier()
  gateway.nextCall(async () => {
    await call.pass()
    return outcome
  })
  const owner = place(asking)
  await call.reached
  return {
    comesBack() {
      call.open()
      return owner
    },
  }
}

/** Its lease runs out, and the next request notices. */
async function leaseRunsOut(): Promise<void> {
  await bench.endLease(key)
  expect(toldBy(await place())).toBe('unknown')
}

/** Reconciliation found nothing, after the settle window. */
async function provenNotExecuted(): Promise<void> {
  const { id, attempt } = await bench.recordOf(key)
  const released = await release(bench.store, {
    recordId: id,
    from: 'unknown',
    attempt,
    code: 'not_found',
    effects: [],
    event: { event: 'released', by: 'reconciler' },
  })
  expect(released).not.toBeNull()
}

/** A first owner that is held in its call while the record is failed_retryable again. */
async function lateOwner(outcome: CallOutcome, asking = {}): Promise<Late> {
  const late = await ownerInCall(outcome, asking)
  await leaseRunsOut()
  await provenNotExecuted()
  return late
}

const evidence = async () =>
  bench.rows('SELECT source, attempt, verdict FROM evidence WHERE record_id = $1', [(await bench.recordOf(key)).id])
const discrepancies = async () =>
  bench.rows<{ kind: string; detail: Record<string, unknown> }>(
    'SELECT kind, detail FROM discrepancies WHERE record_id = $1',
    [(await bench.recordOf(key)).id],
  )
const books = () =>
  bench.rows(
    `SELECT o.status, l.status AS ledger, l.provider_ref AS ref
     FROM orders o LEFT JOIN ledger_entries l ON l.order_id = o.id WHERE o.customer_id = $1`,
    [body.customerId],
  )
const events = async () => (await bench.recordOf(key)).timeline.map(({ event }) => event)

describe('a late owner of a record whose outcome is unknown', () => {
  it('settles it at once with the charge that it learned of, and answers as a duplicate', async () => {
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

  it('settles it with a decline, which is proof where no other attempt can have called', async () => {
    const late = await ownerInCall(declined(ref('no')))
    await leaseRunsOut()
    expect(toldBy(await late.comesBack())).toBe('402 replayed')
    expect(await books()).toEqual([{ status: 'declined', ledger: 'failed', ref: ref('no') }])
  })

  it.each([
    ['refused', refused],
    ['timed out', timedOut],
  ])('changes nothing where it learned nothing: %s', async (_, outcome) => {
    const late = await ownerInCall(outcome())
    await leaseRunsOut()
    const before = await bench.recordOf(key)
    expect(toldBy(await late.comesBack())).toBe('unknown')
    expect(await bench.recordOf(key)).toEqual(before)
    expect(await evidence()).toEqual([])
  })

  it('settles it although the store is lost between keeping the evidence and settling', async () => {
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

describe('a late owner whose record is gone', () => {
  /** The reaper's work, whole retentions later. */
  async function reaped(): Promise<void> {
    const { id } = await bench.recordOf(key)
    await move(bench.db, id, 'expired')
    await bench.rows('DELETE FROM idempotency_records WHERE id = $1', [id])
  }

  it('is told that the key has expired: it takes the key no second time and calls nobody again', async () => {
    const late = await lateOwner(timedOut())
    await reaped()
    expect(toldBy(await late.comesBack())).toBe('expired')
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.rows('SELECT id FROM idempotency_records WHERE key = $1', [key])).toEqual([])
    expect(toldBy(await place())).toBe('201')
  })
})

describe('a late owner of a record that is failed_retryable', () => {
  it('settles it at once with its charge: the next request gets the answer without a call', async () => {
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
  ])('changes nothing where it learned nothing, and calls nobody any more: %s', async (_, outcome) => {
    const late = await lateOwner(outcome())
    expect(toldBy(await late.comesBack())).toBe('not_executed')
    expect(await events()).toEqual(['reserved', 'lease_over', 'released'])
    expect(await evidence()).toEqual([])
    expect(gateway.calls).toHaveLength(1)
    expect(toldBy(await place())).toBe('201')
  })

  it('keeps its decline, which moves nothing; its client’s next request runs it', async () => {
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

describe('a late owner of a record that is claimed again', () => {
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

  it('leaves its charge to the second attempt, which settles with it and does not call', async () => {
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

  it('leaves its charge to the next request where the second attempt dies', async () => {
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

  it('waits as a duplicate does, and gets the second attempt’s answer as a replay', async () => {
    const first = await lateOwner(charged(ref('first')), { waitMs: 20_000 })
    const second = await secondInLookUp()
    const waiting = first.comesBack()
    await untilAwaited()
    const [firstTold, secondTold] = await Promise.all([waiting, second.comesBack()])
    expect(toldBy(secondTold)).toBe('201')
    expect(toldBy(firstTold)).toBe('201 replayed')
    expect(answerOf(firstTold)).toEqual(answerOf(secondTold))
  })

  it('has its decline kept, which is no proof: another attempt may call', async () => {
    const first = await lateOwner(declined(ref('no')))
    const second = await secondInLookUp()
    expect(toldBy(await first.comesBack())).toBe('in_progress')
    expect(await evidence()).toEqual([{ source: 'late_owner', attempt: 1, verdict: 'declined' }])
    expect(toldBy(await second.comesBack())).toBe('201')
    expect(gateway.calls).toHaveLength(2)
  })

  it('has its decline kept where the second attempt left the outcome unknown, which stays so', async () => {
    const first = await lateOwner(declined(ref('no')))
    gateway.nextCall(timedOut)
    expect(toldBy(await place())).toBe('outcome_unknown')
    expect(toldBy(await first.comesBack())).toBe('unknown')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', attempt: 2 })
  })

  describe('and is in its call already', () => {
    async function bothCalled(secondOutcome: CallOutcome) {
      const first = await lateOwner(charged(ref('first')))
      const second = await ownerInCall(secondOutcome)
      expect(toldBy(await first.comesBack())).toBe('in_progress')
      const outcome = await second.comesBack()
      return { outcome, record: await bench.recordOf(key) }
    }

    it('agrees where both name one charge', async () => {
      const { outcome, record } = await bothCalled(charged(ref('first')))
      expect(toldBy(outcome)).toBe('201')
      expect(record).toMatchObject({ state: 'completed', effect_ref: ref('first') })
      expect(await discrepancies()).toEqual([])
    })

    it('opens a discrepancy where each has a charge of its own', async () => {
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
    ])('has its charge settled with at once where the second call %s', async (_, secondOutcome) => {
      const { outcome, record } = await bothCalled(secondOutcome())
      expect(toldBy(outcome)).toMatch(/^201/)
      expect(record).toMatchObject({ state: 'completed', response_status: 201, effect_ref: ref('first') })
      expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded', ref: ref('first') }])
      expect(toldBy(await place())).toBe('201 replayed')
    })
  })

  it('is heard although its evidence commits only while the second attempt waits to settle', async () => {
    const first = await lateOwner(charged(ref('first')))
    const second = await ownerInCall(charged(ref('second')))
    const transaction = await bench.transaction()
    await keepEvidence(storeOn(transaction), {
      recordId: (await bench.recordOf(key)).id,
      source: 'webhook',
      sourceId: `evt_${key}`,
      attempt: 1,
      executed: { kind: 'succeeded', ref: ref('first') },
    })
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
