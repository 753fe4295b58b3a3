// The one rule: what evidence may move, by the state that it finds.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import { settleByEvidence } from '../../lib/idempotency/settle-by-evidence'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { release } from '../../lib/idempotency/store/release'
import { connectionLost, found, isSettle, tampered, toldBy } from '../support/boundary'
import { LOST, type Meeting, type OneKey, openMeeting, REFUSED } from './meeting'

let meeting: Meeting
beforeAll(async () => {
  meeting = await openMeeting()
})
afterAll(() => meeting.bench.close())

let one: OneKey
beforeEach(() => {
  one = meeting.begin()
})

const ref = (name: string) => `ch_${name}_${one.key}`
const evidence = async () =>
  meeting.bench.rows('SELECT source, source_id, attempt, verdict FROM evidence WHERE record_id = $1', [
    await one.idOf(),
  ])
const ofRecord = (id: string) =>
  meeting.bench.rows<{ kind: string }>('SELECT kind, detail FROM discrepancies WHERE record_id = $1', [id])

/** Charged, and the answer lost on its way. */
async function unknown(): Promise<void> {
  one.provider.answerCallWith(LOST)
  expect(await one.told()).toBe('outcome_unknown')
}
/** Charged although it was taken for not executed: the provider's list lagged behind. */
async function failedRetryable(): Promise<void> {
  await unknown()
  await one.pastSettleWindow()
  one.provider.answerLookUpWith({ kind: 'not_found' })
  expect(await one.reconcile()).toMatchObject({ state: 'failed_retryable' })
}
/** A second attempt, that left the outcome unknown as well. */
async function unknownAgain(): Promise<void> {
  one.provider.answerCallWith(REFUSED, { arrives: false })
  await one.told()
  one.provider.answerCallWith(LOST, { arrives: false })
  expect(await one.told()).toBe('outcome_unknown')
  expect(await one.record()).toMatchObject({ state: 'unknown', attempt: 2 })
}
async function deleted(): Promise<string> {
  const id = await one.idOf()
  await meeting.bench.endRetention(one.key)
  await one.reap(undefined, 0)
  expect(await meeting.bench.rows('SELECT 1 FROM idempotency_records WHERE id = $1', [id])).toEqual([])
  return id
}

describe('evidence of a charge', () => {
  it('settles an unknown outcome at once, and the client gets the 201 of the original charge', async () => {
    await unknown()
    expect(await one.webhook()).toBe('settled')
    expect((await one.record()).timeline.map(({ event, by }) => [event, by])).toEqual([
      ['reserved', 'node-1'],
      ['outcome_unknown', 'node-1'],
      ['evidence', 'webhook'],
      ['settled', 'webhook'],
    ])
    await one.expectOneCharge()
    expect(one.provider.lookUps).toBe(0)
  })

  it('settles a failed_retryable record without a second call', async () => {
    await failedRetryable()
    expect(await one.webhook()).toBe('settled')
    await one.expectOneCharge()
    expect(one.provider.calls).toBe(1)
  })

  it('is only stored while an owner holds the record, and settles it when the owner gives up', async () => {
    const call = one.provider.hold('called')
    one.provider.answerCallWith(LOST)
    const owner = one.request()
    await call.reached
    expect(await one.webhook()).toBe('kept')
    expect(await one.record()).toMatchObject({ state: 'in_progress', effect_evidence: true })
    call.open()
    expect(toldBy(await owner)).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('settles a dead letter', async () => {
    await unknown()
    await meeting.bench.db.query(
      `UPDATE idempotency_records SET dead_lettered_at = clock_timestamp(), reconcile_after = NULL WHERE key = $1`,
      [one.key],
    )
    expect(await one.webhook()).toBe('settled')
    expect(await one.record()).toMatchObject({ dead_lettered_at: null })
    await one.expectOneCharge()
  })

  it('changes nothing when the stored answer reports the same charge', async () => {
    await one.told()
    expect(await one.webhook()).toBe('kept')
    await one.expectOneCharge()
  })

  it('opens a discrepancy against a stored decline, even one of the same charge', async () => {
    one = meeting.begin({ paymentMethod: 'pm_declined' })
    expect(await one.told()).toBe('402')
    expect(await one.webhook({ kind: 'succeeded' })).toBe('kept')
    expect(await one.discrepancies()).toMatchObject([
      { kind: 'contradicting_evidence', detail: { verdict: 'succeeded', responseStatus: 402, state: 'completed' } },
    ])
    expect(await one.told()).toBe('402 replayed')
  })

  it('opens a discrepancy against a tombstone that never had an answer', async () => {
    await failedRetryable()
    await meeting.bench.endRetention(one.key)
    await one.reap()
    expect(await one.webhook()).toBe('kept')
    expect(await one.state()).toBe('expired')
    expect(await one.discrepancies()).toMatchObject([{ kind: 'contradicting_evidence' }])
  })
})

describe('evidence of a decline', () => {
  it('settles an unknown outcome if only one attempt called the provider', async () => {
    one = meeting.begin({ paymentMethod: 'pm_declined' })
    await unknown()
    expect(await one.webhook({ kind: 'declined' })).toBe('settled')
    expect(await one.told()).toBe('402 replayed')
    expect(await meeting.bench.rows('SELECT status FROM orders WHERE customer_id = $1', [one.body.customerId])).toEqual(
      [{ status: 'declined' }],
    )
  })

  it('stored before the settle window ends proves nothing about two attempts, not even after the window', async () => {
    await unknownAgain()
    expect(await one.webhook({ kind: 'declined', ref: ref('no'), id: `evt_${one.key}` })).toBe('kept')
    // The window ends right after it.
    await meeting.bench.db.query(
      `UPDATE idempotency_records r SET settles_at = e.created_at + interval '1 ms'
       FROM evidence e WHERE e.record_id = r.id AND r.key = $1`,
      [one.key],
    )
    expect(await one.webhook({ kind: 'declined', ref: ref('no'), id: `evt_${one.key}` })).toBe('kept')
    expect(await one.state()).toBe('unknown')
  })

  it('from a webhook, which names no attempt, does not settle a record with two attempts', async () => {
    await unknownAgain()
    await one.pastSettleWindow()
    expect(await one.webhook({ kind: 'declined', ref: ref('no') })).toBe('kept')
    expect(await one.state()).toBe('unknown')
  })

  it('from an earlier attempt does not settle the latest one, even after the settle window', async () => {
    await unknownAgain()
    await one.pastSettleWindow()
    const recordId = await one.idOf()
    const executed = { kind: 'declined', ref: ref('no') } as const
    await recordEvidence(
      { store: meeting.bench.store },
      { recordId, source: 'late_owner', sourceId: 'one', attempt: 1, executed },
    )
    const operation = one.operations.get('POST /api/orders')!
    expect(await settleByEvidence(meeting.bench, operation, recordId)).toBe(false)
    expect(await one.state()).toBe('unknown')
  })

  it('gives way to later evidence of a charge', async () => {
    await unknownAgain()
    const recordId = await one.idOf()
    const keep = (kind: 'succeeded' | 'declined') =>
      recordEvidence(
        { store: meeting.bench.store },
        {
          recordId,
          source: 'look_up',
          sourceId: `${kind}:${recordId}`,
          attempt: 2,
          executed: { kind, ref: ref(kind) },
        },
      )
    await one.pastSettleWindow()
    await keep('declined')
    await keep('succeeded')
    expect(await one.told()).toBe('201 replayed')
    expect(await one.record()).toMatchObject({ effect_ref: ref('succeeded') })
  })

  it('does not move a failed_retryable record', async () => {
    one.provider.answerCallWith(REFUSED, { arrives: false })
    await one.told()
    expect(await one.webhook({ kind: 'declined', ref: ref('no') })).toBe('kept')
    expect(await one.state()).toBe('failed_retryable')
    expect(await one.told()).toBe('201')
  })

  it.each(['its owner gives up', 'its lease ends and the sweeper comes', 'its lease ends and a request comes'])(
    'is only stored while an owner holds the record, and settles it once %s',
    async (what) => {
      one = meeting.begin({ paymentMethod: 'pm_declined' })
      const call = one.provider.hold('called')
      one.provider.answerCallWith(LOST)
      const owner = one.request()
      await call.reached
      expect(await one.webhook({ kind: 'declined' })).toBe('kept')
      if (what === 'its owner gives up') call.open()
      else await meeting.bench.endLease(one.key)
      if (what.includes('sweeper')) await one.sweep()
      if (what.includes('request')) expect(await one.told()).toBe('402 replayed')
      call.open()
      expect(toldBy(await owner)).toBe('402 replayed')
      expect(await one.record()).toMatchObject({ state: 'completed', response_status: 402 })
    },
  )

  it('opens a discrepancy against a stored success only if both are about the same charge', async () => {
    await one.told()
    const [charge] = await one.charges()
    await one.webhook({ kind: 'declined', ref: ref('another') })
    expect(await one.discrepancies()).toEqual([])
    await one.webhook({ kind: 'declined', ref: charge!.ref })
    expect(await one.discrepancies()).toMatchObject([{ detail: { verdict: 'declined', ref: charge!.ref } }])
  })
})

describe('evidence for a deleted record', () => {
  it('opens no discrepancy if the ledger has the charge', async () => {
    await one.told()
    const id = await deleted()
    expect(await one.webhook()).toBe('record_gone')
    expect(await ofRecord(id)).toEqual([])
  })

  it('opens a discrepancy if the ledger lacks the charge', async () => {
    await failedRetryable()
    const id = await deleted()
    expect(await one.webhook()).toBe('record_gone')
    expect(await ofRecord(id)).toMatchObject([{ kind: 'contradicting_evidence', detail: { state: null } }])
  })

  it('of a decline opens a discrepancy only if the ledger has that charge', async () => {
    await one.told()
    const id = await deleted()
    await one.webhook({ kind: 'declined', ref: ref('another') })
    expect(await ofRecord(id)).toEqual([])
    await one.webhook({ kind: 'declined' })
    expect(await ofRecord(id)).toMatchObject([{ detail: { verdict: 'declined' } }])
  })
})

describe('evidence that is delivered again', () => {
  /** Whoever uses it keeps the evidence and gets no further. */
  const dying = () =>
    tampered(meeting.bench.store, (send, sent) => {
      if (isSettle(sent)) throw connectionLost()
      return send()
    })

  it('adds no second row, no second timeline event and no new version', async () => {
    await unknown()
    await one.webhook({ id: `evt_${one.key}` })
    const before = await one.record()
    expect(await one.webhook({ id: `evt_${one.key}` })).toBe('kept')
    expect(await one.record()).toEqual(before)
    expect(await evidence()).toHaveLength(1)
  })

  it('settles the record if the first delivery failed before settling it', async () => {
    await unknown()
    await expect(one.webhook({ id: `evt_${one.key}`, store: dying() })).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await one.record()).toMatchObject({ state: 'unknown', effect_evidence: true })
    expect(await one.webhook({ id: `evt_${one.key}` })).toBe('settled')
    expect(await evidence()).toHaveLength(1)
    await one.expectOneCharge()
  })

  it.each([
    ['unknown', unknown],
    ['failed_retryable', failedRetryable],
  ])('is not needed after a failed first delivery: the sweeper settles a record that is %s', async (_, become) => {
    await become()
    await expect(one.webhook({ store: dying() })).rejects.toBeInstanceOf(StoreUnavailable)
    const total = (counts: Record<string, number>) => counts.settledByEvidence ?? 0
    const [dry, swept, again] = [await one.sweep({ dryRun: true }), await one.sweep(), await one.sweep()]
    expect([total(dry), total(swept), total(again)]).toEqual([1, 1, 0])
    await one.expectOneCharge()
  })
})

describe('evidence that can’t be booked', () => {
  it('because another record has booked the charge is stored and opens a discrepancy', async () => {
    const other = meeting.begin()
    await other.told()
    const taken = (await other.charges())[0]!.ref
    await unknown()
    expect(await one.webhook({ ref: taken })).toBe('kept')
    expect(await one.record()).toMatchObject({ state: 'unknown', effect_evidence: true })
    expect(await one.discrepancies()).toMatchObject([
      { kind: 'unbookable_evidence', detail: { constraint: 'ledger_entries_provider_ref_key', source: 'webhook' } },
    ])
    await one.sweep()
    expect(await one.state()).toBe('unknown')
  })
})

const OTHER_MONEY = [
  ['another amount', { money: { amountCents: 1 } }],
  ['another currency', { money: { currency: 'JPY' } }],
  ['another order', { money: { orderId: 'ord_of_somebody_else' } }],
  ['another kind of effect', { effect: 'refund' }],
] as const

describe('evidence of other money', () => {
  const leftToPeople = {
    state: 'unknown',
    last_error_code: 'amount_differs',
    effect_evidence: false,
    money_differs: true,
  }

  it.each(OTHER_MONEY)('of %s leaves an unknown outcome to people, and nothing settles it by itself', async (_, of) => {
    await unknown()
    expect(await one.webhook({ ...of, ref: ref('strange') })).toBe('kept')
    expect(await one.record()).toMatchObject({ ...leftToPeople, reconcile_after: null })
    expect((await one.record()).dead_lettered_at).not.toBeNull()
    expect(await one.discrepancies()).toMatchObject([{ kind: 'amount_differs' }])

    expect(await one.webhook(), 'right money, later').toBe('kept')
    await one.reconcileDue()
    await one.sweep()
    expect(await one.reconcile()).toMatchObject({ verdict: 'succeeded', settled: false, state: 'unknown' })
    expect(await one.told()).toBe('unknown')
    expect(await one.record()).toMatchObject(leftToPeople)
  })

  it('takes a key back that was taken for not executed, so that no claim is given', async () => {
    await failedRetryable()
    expect(await one.webhook({ money: { amountCents: 1 } })).toBe('kept')
    expect(await one.record()).toMatchObject(leftToPeople)
    expect(await one.told()).toBe('unknown')
    expect(one.provider.calls).toBe(1)
  })

  it.each([
    ['gives up', LOST],
    ['is refused', REFUSED],
    ['is declined', { kind: 'declined', providerRef: 'ch_no' }],
  ] as const)('is kept while an owner holds the record, and outranks an owner who %s', async (_, outcome) => {
    const call = one.provider.hold('called')
    one.provider.answerCallWith(outcome)
    const owner = one.request()
    await call.reached
    expect(await one.webhook({ money: { amountCents: 1 } })).toBe('kept')
    expect(await one.record()).toMatchObject({ state: 'in_progress', money_differs: true })
    call.open()
    expect(toldBy(await owner)).toBe('outcome_unknown')
    expect(await one.record()).toMatchObject(leftToPeople)
  })

  it('that is found again after a person took it for not executed is left to people again', async () => {
    await unknown()
    const strange = () => one.provider.answerLookUpWith({ ...found(ref('strange'), { amountCents: 1 }) })
    strange()
    await one.reconcile()
    expect(await one.record()).toMatchObject(leftToPeople)
    const { version } = await one.record()
    const verdict = { from: 'unknown', attempt: 1, version, code: 'not_executed', despiteOtherMoney: true } as const
    const event = { event: 'released', by: 'operator:opr_olga' } as const
    await release({ store: meeting.bench.store }, { recordId: await one.idOf(), ...verdict, event })
    expect(await one.state()).toBe('failed_retryable')
    strange()
    expect(await one.told()).toBe('outcome_unknown')
    expect(await one.record()).toMatchObject({ ...leftToPeople, reconcile_after: null })
    expect((await one.record()).dead_lettered_at).not.toBeNull()
  })

  it('does not keep an owner from its own success, and stays a discrepancy', async () => {
    const call = one.provider.hold('called')
    const owner = one.request()
    await call.reached
    await one.webhook({ money: { amountCents: 1 } })
    call.open()
    expect(toldBy(await owner)).toBe('201')
    expect(await one.record()).toMatchObject({ state: 'completed', money_differs: false })
    expect(await one.discrepancies()).toMatchObject([{ kind: 'amount_differs' }])
  })

  it('kept while an owner held the record is a dead letter when the lease is over', async () => {
    const call = one.provider.hold('called')
    const owner = one.request()
    await call.reached
    await one.webhook({ money: { amountCents: 1 } })
    await meeting.bench.endLease(one.key)
    await one.sweep()
    expect(await one.record()).toMatchObject({ ...leftToPeople, reconcile_after: null })
    call.open()
    expect(toldBy(await owner)).toBe('unknown')
    expect(await one.record()).toMatchObject(leftToPeople)
  })

  it('from the owner’s own call gets its client a 504, and is left to people', async () => {
    one.provider.answerCallWith({
      kind: 'succeeded',
      providerRef: ref('own'),
      effect: 'charge',
      amountCents: 1,
      currency: 'USD',
      orderId: null,
    })
    expect(await one.told()).toBe('outcome_unknown')
    expect(await one.record()).toMatchObject({ ...leftToPeople, reconcile_after: null })
    expect(await evidence()).toMatchObject([{ source: 'owner', verdict: 'succeeded' }])
    expect(await one.discrepancies()).toMatchObject([{ kind: 'amount_differs' }])
  })

  it('from the reconciler’s look-up is left to people', async () => {
    await unknown()
    one.provider.answerLookUpWith(found(ref('seen'), { amountCents: 1 }))
    expect(await one.reconcile()).toMatchObject({ verdict: 'succeeded', settled: false, deadLettered: true })
    expect(await one.record()).toMatchObject(leftToPeople)
  })

  it('from the look-up before a further attempt is left to people, and the provider is not called', async () => {
    await unknown()
    await one.pastSettleWindow()
    one.provider.answerLookUpWith({ kind: 'not_found' })
    await one.reconcile()
    one.provider.answerLookUpWith(found(ref('seen'), { currency: 'JPY' }))
    expect(await one.told()).toBe('outcome_unknown')
    expect(await one.record()).toMatchObject(leftToPeople)
    expect(one.provider.calls).toBe(1)
  })

  it.each([false, true])(
    'about a completed key only opens the discrepancy, when it is expired: %s',
    async (expired) => {
      await one.told()
      if (expired) {
        await meeting.bench.endRetention(one.key)
        await one.reap()
      }
      expect(await one.webhook({ money: { amountCents: 1 } })).toBe('kept')
      expect(await one.state()).toBe(expired ? 'expired' : 'completed')
      expect(await one.discrepancies()).toMatchObject([{ kind: 'amount_differs' }])
    },
  )

  it('of a decline proves nothing, and moves nothing', async () => {
    await unknown()
    expect(await one.webhook({ kind: 'declined', ref: ref('no'), money: { amountCents: 1 } })).toBe('kept')
    expect(await one.record()).toMatchObject({ state: 'unknown', money_differs: false, dead_lettered_at: null })
    expect(await one.discrepancies()).toEqual([])
  })
})

describe('an attempt after the first', () => {
  it('calls without a look-up where every attempt ended with its own owner’s proof', async () => {
    one.provider.answerCallWith(REFUSED, { arrives: false })
    await one.told()
    expect(await one.told()).toBe('201')
    expect(one.provider).toMatchObject({ calls: 2, lookUps: 0 })
  })

  it('looks the charge up first where an attempt ended in another way', async () => {
    one.provider.answerCallWith(LOST, { arrives: false })
    await one.told()
    await one.pastSettleWindow()
    await one.reconcile()
    expect(await one.told()).toBe('201')
    expect(one.provider).toMatchObject({ calls: 2, lookUps: 2 })
  })
})
