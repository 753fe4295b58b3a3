// What a decision would do is what it then does: each preview is held against the decision itself.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { migrateJobs } from '../../lib/jobs/worker'
import { isRefused } from '../../lib/operators/refusal'
import type { Decision } from '../../lib/reconciliation/resolve'
import type { ResolutionPreview } from '../../lib/reconciliation/resolve-preview'
import { answerOf, type Bench, newKey, openBench, orderOf } from '../support/boundary'
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

const VERDICTS = ['succeeded', 'declined', 'not_executed'] as const
const words = (id: string, verdict: Decision['verdict']) =>
  verdict === 'succeeded' ? { verdict, providerRef: `ch_${id}` } : { verdict }

async function preview(id: string, verdict: Decision['verdict']): Promise<ResolutionPreview> {
  const shown = await desk.previewResolution(VERA, { id, ...words(id, verdict) })
  if (isRefused(shown)) throw new Error(shown.refused)
  return shown
}

function decide({ id, version }: { id: string; version: number }, verdict: Decision['verdict']) {
  desk.gateway.nextLookUp(() => UNREACHABLE)
  return desk.resolveKey(OLGA, { id, version, reason: REASON, ...words(id, verdict) })
}

/** The id of a payment is drawn when it is booked. */
const withoutDrawn = (body: string) => body.replace(/pay_[0-9a-z]{26}/, 'pay_')

describe.each(VERDICTS)('the preview of the verdict %s', (verdict) => {
  it('for an order matches the decision: the replayed answer and the order’s new status', async () => {
    const key = await desk.unknown()
    await desk.pastSettleWindow(key.key)
    const shown = await preview(key.id, verdict)
    expect(shown.refusal).toBeNull()
    await decide(key, verdict)
    const [order] = await bench.rows<{ id: string; status: string }>(
      'SELECT id, status FROM orders WHERE record_id = $1',
      [key.id],
    )
    expect(shown.affected).toEqual([{ type: 'order', id: order!.id, from: 'pending_payment', to: order!.status }])
    if (verdict === 'not_executed') return expect(shown).toMatchObject({ replay: null, runsAgain: 'client' })
    const replay = answerOf(await bench.place(desk.gateway, key.body, { key: key.key }))
    expect(shown.runsAgain).toBeNull()
    expect(shown.replay).toMatchObject({ status: replay.status, headers: replay.headers })
    expect(withoutDrawn(shown.replay!.body)).toBe(withoutDrawn(replay.body))
    expect(shown.replay!.headers).toMatchObject({
      'idempotency-key': `"${key.key}"`,
      'idempotent-replayed': 'true',
    })
  })

  it.each([
    ['a part', 400],
    ['all', 1000],
  ])('for a refund of %s of the order matches the decision: statuses and released amount', async (_, amountCents) => {
    const key = await desk.unknownRefund(amountCents, 1000)
    await desk.pastSettleWindow(key.key)
    const shown = await preview(key.id, verdict)
    const held = await bench.rows<{ held: string }>('SELECT held_cents AS held FROM orders WHERE id = $1', [
      key.orderId,
    ])
    await decide(key, verdict)
    const [row] = await bench.rows<Record<string, string>>(
      `SELECT r.id, r.status, o.id AS order_id, o.status AS order_status, o.held_cents AS held, o.refunded_cents AS refunded
       FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.record_id = $1`,
      [key.id],
    )
    const [refund, order] = shown.affected
    expect(refund).toEqual({ type: 'refund', id: row!.id, from: 'pending', to: row!.status })
    expect(order).toMatchObject({ type: 'order', id: row!.order_id, from: 'paid', to: row!.order_status })
    const givenBack = Number(held[0]!.held) - Number(row!.held) - Number(row!.refunded)
    expect(order!.givesBackCents ?? 0).toBe(givenBack)
  })
})

describe('a resolution preview', () => {
  it('gives the reason for which the decision would be refused', async () => {
    const key = await desk.unknown()
    expect((await preview(key.id, 'not_executed')).refusal).toMatchObject({ refused: 'settle_window_open' })
    expect(await desk.previewResolution(VERA, { id: key.id, verdict: 'succeeded' })).toMatchObject({
      refusal: { refused: 'invalid_request' },
      replay: null,
    })
    await decide(key, 'succeeded')
    const other = await desk.unknown()
    expect(
      await desk.previewResolution(VERA, { id: other.id, verdict: 'succeeded', providerRef: `ch_${key.id}` }),
    ).toMatchObject({ refusal: { refused: 'provider_ref_taken' } })
    expect((await preview(key.id, 'declined')).refusal).toMatchObject({ refused: 'not_resolvable' })
    const nobody = { id: 'idem_00000000000000000000000000', verdict: 'declined' } as const
    expect(await desk.previewResolution(VERA, nobody)).toMatchObject({ refused: 'not_found' })
  })

  it('makes no provider lookup and writes nothing', async () => {
    const key = await desk.unknown()
    const before = await bench.recordOf(key.key)
    for (const verdict of VERDICTS) await preview(key.id, verdict)
    expect(await bench.recordOf(key.key)).toEqual(before)
    expect(desk.gateway.lookUps).toHaveLength(0)
    expect(await desk.audit(key.id)).toEqual([])
  })

  it('reports that the worker reruns an accepted request, until its creation plus retention', async () => {
    const key = await desk.unknownAccepted()
    await desk.pastSettleWindow(key.key)
    expect(await preview(key.id, 'not_executed')).toMatchObject({ runsAgain: 'worker' })
    await bench.endRerunning(key.key)
    expect(await preview(key.id, 'not_executed')).toMatchObject({ runsAgain: 'nobody' })
  })

  it('of a refund that its reservation ruled out has no replay', async () => {
    const key = newKey()
    const dead = {
      ...bench.boundary,
      step: (step: string) => (step === 'reserved' ? new Promise<void>(() => {}) : undefined),
    }
    void bench.refund(desk.gateway, 'ord_none', {}, { key, boundary: dead })
    await expect.poll(() => bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [key])).toHaveLength(1)
    await bench.endLease(key)
    await bench.refund(desk.gateway, 'ord_none', {}, { key })
    const { id, version, state } = await bench.recordOf(key)
    expect(state).toBe('unknown')
    expect(await preview(id, 'succeeded')).toMatchObject({ replay: null, affected: [] })
    const decided = await desk.resolveKey(OLGA, { id, version, reason: REASON, ...words(id, 'succeeded') })
    expect(decided).toMatchObject({ refused: 'contradicts_provider' })
    expect(desk.gateway.lookUps).toHaveLength(0)
  })

  it('of a key with a known outcome reports not_resolvable', async () => {
    const key = newKey()
    await bench.place(desk.gateway, orderOf(), { key })
    const { id } = await bench.recordOf(key)
    expect(await preview(id, 'declined')).toMatchObject({
      refusal: { refused: 'not_resolvable' },
      replay: null,
      runsAgain: null,
      affected: [],
    })
  })
})
