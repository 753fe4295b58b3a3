// A person's decision meets somebody else on the same record. Whoever is first wins, the other one is told, and money
// is booked once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { migrateJobs } from '../../lib/jobs/worker'
import type { Call } from '../../lib/operators/actor'
import { isRefused } from '../../lib/operators/refusal'
import { applyProviderEvent } from '../../lib/reconciliation/evidence'
import { reconcile } from '../../lib/reconciliation/reconcile'
import { type Decision, type Resolution, resolve } from '../../lib/reconciliation/resolve'
import { type Bench, barrier, found, isSettle, openBench, reported, timedOut, toldBy } from '../support/boundary'
import { type Desk, OLGA, openDesk, PETR, REASON, UNREACHABLE } from './desk'
import { heldBefore, isRelease, type Meeting, openMeeting } from './meeting'

let bench: Bench
let desk: Desk
let key: Awaited<ReturnType<Desk['unknown']>>

beforeAll(async () => {
  bench = await openBench()
  await migrateJobs(bench.url)
})
afterAll(() => bench?.close())
beforeEach(async () => {
  desk = openDesk(bench)
  key = await desk.unknown()
  await desk.pastSettleWindow(key.key)
})

const WORDS = {
  succeeded: () => ({ verdict: 'succeeded', providerRef: `ch_${key.id}` }),
  declined: () => ({ verdict: 'declined' }),
  not_executed: () => ({ verdict: 'not_executed' }),
} as const satisfies Record<Decision['verdict'], () => Partial<Decision>>

const decide = (call: Call, verdict: Decision['verdict'], by = desk) =>
  by.resolveKey(call, { id: key.id, version: key.version, reason: REASON, ...WORDS[verdict]() })
const ledger = () => bench.rows<{ status: string }>('SELECT status FROM ledger_entries WHERE record_id = $1', [key.id])
const entries = async () => (await desk.audit(key.id)).filter(({ outcome }) => outcome === 'done')

/** The provider is away, and everybody who asks it waits until the test lets them go. */
function heldLookUps(count: number) {
  const all = Array.from({ length: count }, barrier)
  desk.gateway.nextLookUp(...all.map((held) => () => held.pass().then(() => UNREACHABLE)))
  return all
}

describe('two operators who resolve one key with different verdicts', () => {
  const PAIRS = (['succeeded', 'declined', 'not_executed'] as const).flatMap((one, i, all) =>
    all.slice(i + 1).map((other) => [one, other] as const),
  )

  it.each(PAIRS)('%s and %s: exactly one wins, the other operator gets the current state', async (one, other) => {
    const looks = heldLookUps(2)
    const deciding = [decide(OLGA, one), decide(PETR, other)]
    await Promise.all(looks.map(({ reached }) => reached))
    for (const { open } of looks) open()
    const outcomes = await Promise.all(deciding)
    const won = outcomes.filter((outcome) => !isRefused(outcome))
    const lost = outcomes.filter(isRefused)
    expect(won).toHaveLength(1)
    expect(lost).toMatchObject([
      {
        refused: 'changed_since_loaded',
        current: { state: (won[0] as { state: string }).state, version: key.version + 1 },
      },
    ])
    const winner = isRefused(outcomes[0]) ? other : one
    expect(await ledger()).toHaveLength(winner === 'not_executed' ? 0 : 1)
    expect(await entries()).toMatchObject([{ after: { verdict: winner } }])
    expect(await bench.rows('SELECT verdict FROM evidence WHERE record_id = $1', [key.id])).toEqual([
      { verdict: winner },
    ])
  })

  it('the second decision waits for the first one’s commit, and then changes nothing', async () => {
    const first = await bench.transaction()
    await first.query(
      `UPDATE idempotency_records SET version = version + 1, state = 'failed_retryable', reconcile_after = NULL,
         timeline = timeline || '[{"event":"test"}]'::jsonb WHERE id = $1`,
      [key.id],
    )
    desk.gateway.nextLookUp(() => UNREACHABLE)
    const second = decide(OLGA, 'succeeded')
    await bench.untilBlocked(1)
    await first.query('COMMIT')
    first.release()
    expect(await second).toMatchObject({ refused: 'changed_since_loaded', current: { state: 'failed_retryable' } })
    expect(await ledger()).toEqual([])
    expect(await entries()).toEqual([])
  })
})

describe('an operator’s decision', () => {
  const webhook = (ref: string, kind: 'succeeded' | 'declined' = 'succeeded') =>
    applyProviderEvent(desk.boundary, desk.operations, {
      id: `evt_${key.id}_${ref}`,
      providerKey: `onceover-${key.id}`,
      outcome: reported(ref, { kind }),
    })

  it('is refused when a webhook settles the key during the look-up', async () => {
    const [look] = heldLookUps(1)
    const deciding = decide(OLGA, 'not_executed')
    await look!.reached
    expect(await webhook('ch_hook')).toBe('settled')
    look!.open()
    expect(await deciding).toMatchObject({ refused: 'changed_since_loaded', current: { state: 'completed' } })
    expect(toldBy(await bench.place(desk.gateway, key.body, { key: key.key }))).toBe('201 replayed')
    expect(await ledger()).toHaveLength(1)
  })

  it.each(['succeeded', 'not_executed'] as const)(
    'is refused when evidence that settles nothing is stored during the look-up: %s',
    async (verdict) => {
      // A decline that does not say which attempt it is about: the second one may still be charged.
      const body = key.body
      await decide(OLGA, 'not_executed')
      desk.gateway.nextCall(timedOut)
      await bench.place(desk.gateway, body, { key: key.key })
      await desk.pastSettleWindow(key.key)
      const { version } = await bench.recordOf(key.key)
      const [look] = heldLookUps(1)
      const deciding = desk.resolveKey(OLGA, { id: key.id, version, reason: REASON, ...WORDS[verdict]() })
      await look!.reached
      expect(await webhook(`ch_no_${verdict}`, 'declined')).toBe('kept')
      look!.open()
      expect(await deciding).toMatchObject({
        refused: 'changed_since_loaded',
        current: { state: 'unknown', version: version + 1 },
      })
    },
  )

  it('is refused when the reconciler settles the key during the look-up', async () => {
    const [look] = heldLookUps(1)
    const deciding = decide(OLGA, 'declined')
    await look!.reached
    desk.gateway.nextLookUp(() => found(`ch_found_${key.id}`))
    expect(await reconcile(desk.reconciliation, key.id, 'reconciler')).toMatchObject({ settled: true })
    look!.open()
    expect(await deciding).toMatchObject({ refused: 'changed_since_loaded', current: { state: 'completed' } })
    expect(await ledger()).toEqual([{ status: 'succeeded' }])
  })

  it('stands when a slower reconciler finds the opposite, which opens a discrepancy', async () => {
    const look = barrier()
    desk.gateway.nextLookUp(
      () => look.pass().then(() => found(`ch_late_${key.id}`)),
      () => UNREACHABLE,
    )
    const reconciling = reconcile(desk.reconciliation, key.id, 'reconciler')
    await look.reached
    expect(await decide(OLGA, 'declined')).toMatchObject({ state: 'completed' })
    look.open()
    expect(await reconciling).toMatchObject({ settled: false, state: 'completed' })
    expect(await bench.rows('SELECT kind FROM discrepancies WHERE record_id = $1', [key.id])).toEqual([
      { kind: 'contradicting_evidence' },
    ])
    expect(await ledger()).toEqual([{ status: 'failed' }])
  })

  it.each([
    ['succeeded', isSettle],
    ['not_executed', isRelease],
  ] as const)('is refused when a webhook settles the key just before the move: %s', async (verdict, statement) => {
    const { store, held } = heldBefore(bench.store, statement)
    const slow = openDesk(bench, { boundary: { store } })
    slow.gateway.nextLookUp(() => UNREACHABLE)
    const deciding = decide(OLGA, verdict, slow)
    await held.reached
    expect(await webhook(`ch_${verdict}`)).toBe('settled')
    held.open()
    expect(await deciding).toMatchObject({ refused: 'changed_since_loaded' })
    expect(await ledger()).toHaveLength(1)
  })
})

describe('an operator’s decision before a stale owner returns', () => {
  let meeting: Meeting
  beforeAll(async () => {
    meeting = await openMeeting()
  })
  afterAll(() => meeting.bench.close())

  /** Charged, with the answer on its way back; the lease is over, and the provider can't be asked. */
  async function ownerComingBack() {
    const one = meeting.begin()
    const call = one.provider.hold('called')
    const owner = one.request()
    await call.reached
    await meeting.bench.endLease(one.key)
    await one.sweep()
    await one.pastSettleWindow()
    const { id, version } = await one.record()
    const { boundary } = meeting.bench
    const { operations } = one
    return {
      one,
      ref: (await one.charges())[0]!.ref,
      decide(decision: Resolution) {
        one.provider.answerLookUpWith(UNREACHABLE)
        return resolve({ boundary, operations }, OLGA, { id, version, reason: REASON, ...decision })
      },
      async comesBack(): Promise<string> {
        call.open()
        return toldBy(await owner)
      },
    }
  }

  it('stands when it names the owner’s charge', async () => {
    const { one, ref, decide, comesBack } = await ownerComingBack()
    expect(await decide({ verdict: 'succeeded', providerRef: ref })).toBeNull()
    expect(await comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('of "not executed" is corrected: the owner’s charge settles the key', async () => {
    const { one, decide, comesBack } = await ownerComingBack()
    expect(await decide({ verdict: 'not_executed' })).toBeNull()
    expect(await comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('of "not executed" costs no second charge when the client retries before the owner returns', async () => {
    const { one, decide, comesBack } = await ownerComingBack()
    expect(await decide({ verdict: 'not_executed' })).toBeNull()
    expect(await one.told()).toBe('201')
    expect(await comesBack()).toBe('201 replayed')
    await one.expectOneCharge()
  })

  it('of "declined" keeps its answer against the owner’s charge, and a discrepancy is opened', async () => {
    const { one, decide, comesBack } = await ownerComingBack()
    expect(await decide({ verdict: 'declined' })).toBeNull()
    expect(await comesBack()).toBe('402 replayed')
    expect(await one.discrepancies()).toMatchObject([{ kind: 'contradicting_evidence' }])
  })
})

it.each(['succeeded', 'not_executed'] as const)('a waiter for a key is woken by a decision: %s', async (verdict) => {
  await bench.rows('UPDATE idempotency_records SET awaited = true WHERE id = $1', [key.id])
  const heard = desk.boundary.waiting.expect(key.id)
  expect(await heard.listening).toBe(true)
  const woken = heard.orAfter(60_000)
  desk.gateway.nextLookUp(() => UNREACHABLE)
  await decide(OLGA, verdict)
  await woken
})
