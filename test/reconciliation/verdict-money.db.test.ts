// Money and references in a person's verdict: what the provider moved, whose reference it is, and how a booking that only a
// verdict made is taken back.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { isRefused } from '../../lib/operators/refusal'
import type { ProviderEntry } from '../../lib/payments/gateway'
import type { Decision } from '../../lib/reconciliation/resolve'
import { type Bench, found, newKey, openBench, toldBy } from '../support/boundary'
import { ADA, type Desk, OLGA, openDesk, REASON, UNREACHABLE } from './desk'

let bench: Bench
let desk: Desk
let key: Awaited<ReturnType<Desk['unknown']>>
let ref: string

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(async () => {
  desk = openDesk(bench)
  key = await desk.unknown()
  ref = `ch_${key.id}`
})

const resolve = (changes: Partial<Decision> = {}) =>
  desk.resolveKey(OLGA, { ...key, verdict: 'succeeded', providerRef: ref, reason: REASON, ...changes })
const refusalOf = async (changes: Partial<Decision> = {}) => {
  const refused = await resolve(changes)
  return isRefused(refused) ? `${refused.refused}: ${refused.detail ?? ''}` : 'done'
}
const entryOf = (changes: Partial<ProviderEntry> = {}): ProviderEntry => ({
  ref,
  providerKey: `onceover-${key.id}`,
  kind: 'charge',
  status: 'succeeded',
  amountCents: 2500,
  currency: 'USD',
  orderId: null,
  createdAt: new Date(),
  ...changes,
})
const unreachableByKey = () => desk.gateway.nextLookUp(() => UNREACHABLE)
const ledger = () =>
  bench.rows<{ id: string; amount: number; currency: string; reversed: boolean; reversal_of: string | null }>(
    `SELECT id, amount_cents::int AS amount, currency, reversed_at IS NOT NULL AS reversed, reversal_of
     FROM ledger_entries WHERE record_id = $1 ORDER BY created_at, reversal_of NULLS FIRST`,
    [key.id],
  )
const discrepancies = () =>
  bench.rows('SELECT kind, closed_at FROM discrepancies WHERE record_id = $1 ORDER BY kind', [key.id])

const ONE_YEN = { amountCents: 1, currency: 'JPY' }

describe('a verdict with a reference whose key can’t be looked up', () => {
  it('is refused where the provider knows the reference as another key’s', async () => {
    unreachableByKey()
    desk.gateway.knows(entryOf({ providerKey: 'onceover-idem_00000000000000000000000000' }))
    expect(await refusalOf()).toMatch(/^contradicts_provider: .* belongs to another key/)
    expect(await ledger()).toEqual([])
  })

  it.each([
    ['succeeded', 'failed'],
    ['declined', 'succeeded'],
  ] as const)('is refused as %s where the provider says that it is %s', async (verdict, status) => {
    unreachableByKey()
    desk.gateway.knows(entryOf({ status }))
    expect(await refusalOf({ verdict })).toMatch(/^contradicts_provider/)
  })

  it('stands by itself where the provider knows no such reference', async () => {
    unreachableByKey()
    desk.gateway.knows()
    expect(await refusalOf()).toBe('done')
  })
})

describe('a verdict on a charge of other money', () => {
  it.each(['by its key', 'by its reference', 'from stored evidence'])(
    'that is known %s needs to accept that money, and books it as such',
    async (how) => {
      if (how === 'from stored evidence') {
        const executed = { kind: 'succeeded', ref, shown: { effect: 'charge', ...ONE_YEN } } as const
        await recordEvidence(
          { store: bench.store },
          {
            recordId: key.id,
            source: 'webhook',
            sourceId: ref,
            attempt: null,
            executed,
            differs: 'amount_differs',
          },
        )
        key = { ...key, version: key.version + 1 }
      }
      if (how === 'by its reference') desk.gateway.knows(entryOf(ONE_YEN))
      const ask = () => (how === 'by its key' ? desk.gateway.nextLookUp(() => found(ref, ONE_YEN)) : unreachableByKey())
      ask()
      expect(await refusalOf()).toMatch(/^contradicts_provider: .*JPY 1/)
      ask()
      expect(await refusalOf({ accept: { ...ONE_YEN, amountCents: 2 } })).toMatch(/^contradicts_provider/)
      ask()
      expect(await resolve({ accept: ONE_YEN })).toMatchObject({ state: 'completed' })
      expect(await ledger()).toMatchObject([{ amount: 1, currency: 'JPY' }])
      if (how === 'from stored evidence')
        expect(await discrepancies()).toEqual([{ kind: 'amount_differs', closed_at: null }])
    },
  )

  it.each(['declined', 'not_executed'] as const)(
    'is refused as %s beside evidence of the key’s own money',
    async (verdict) => {
      const keep = (sourceId: string, differs: boolean) =>
        recordEvidence(
          { store: bench.store },
          {
            recordId: key.id,
            source: 'webhook',
            sourceId: `${sourceId} ${key.id}`,
            attempt: null,
            executed: { kind: 'succeeded', ref: `${sourceId} ${key.id}` },
            differs: differs ? 'amount_differs' : null,
          },
        )
      await keep('ch_own', false)
      await keep('ch_other', true)
      await desk.pastSettleWindow(key.key)
      key = { ...key, version: key.version + 2 }
      unreachableByKey()
      expect(await refusalOf({ verdict, providerRef: undefined })).toMatch(/^contradicts_provider: .*ch_own/)
    },
  )

  it('can’t accept what nobody knows', async () => {
    unreachableByKey()
    expect(await refusalOf({ accept: ONE_YEN })).toMatch(/^contradicts_provider: .*can’t be asked/)
  })

  it('accepts money only of what was executed', async () => {
    expect(await refusalOf({ verdict: 'declined', accept: ONE_YEN })).toMatch(/^invalid_request/)
  })
})

describe('reversing a booking', () => {
  const reverse = async (call = ADA) =>
    desk.reverseEntry(call, { id: (await ledger())[0]!.id, reason: 'another key’s reference' })

  it('that only a verdict made frees its reference and opens a discrepancy; answer and order stay', async () => {
    unreachableByKey()
    await resolve()
    const before = await bench.recordOf(key.key)
    const [booking] = await ledger()
    expect(await reverse()).toMatchObject({ reversalOf: booking!.id, providerRef: ref, amountCents: 2500 })
    expect(await ledger()).toMatchObject([
      { reversed: true, reversal_of: null },
      { reversed: true, reversal_of: booking!.id },
    ])
    expect(await bench.recordOf(key.key)).toEqual(before)
    expect(await bench.rows('SELECT status FROM orders WHERE record_id = $1', [key.id])).toEqual([{ status: 'paid' }])
    expect(await discrepancies()).toEqual([{ kind: 'paid_without_charge', closed_at: null }])
    expect(await desk.audit(booking!.id)).toMatchObject([{ action: 'ledger.reverse', actor_id: ADA.actor.id }])

    const right = await desk.unknown()
    unreachableByKey()
    expect(
      await desk.resolveKey(OLGA, { ...right, verdict: 'succeeded', providerRef: ref, reason: REASON }),
    ).toMatchObject({ state: 'completed' })
  })

  it('of a charge leaves nothing to refund: the provider is not asked to give another key’s charge back', async () => {
    unreachableByKey()
    await resolve()
    const [{ id: orderId }] = (await bench.rows<{ id: string }>('SELECT id FROM orders WHERE record_id = $1', [
      key.id,
    ])) as [{ id: string }]
    await reverse()
    expect(toldBy(await bench.refund(desk.gateway, orderId, {}, { key: newKey() }))).toBe('409')
    expect(desk.gateway.calls.filter(({ kind }) => kind === 'refund')).toEqual([])
    expect(await bench.rows('SELECT held_cents::int AS held, status FROM orders WHERE id = $1', [orderId])).toEqual([
      { held: 0, status: 'paid' },
    ])
  })

  it('is refused a second time, and for a reversing entry', async () => {
    unreachableByKey()
    await resolve()
    await reverse()
    expect(await reverse()).toMatchObject({ refused: 'not_reversible' })
    const [, reversing] = await ledger()
    expect(await desk.reverseEntry(ADA, { id: reversing!.id, reason: 'again' })).toMatchObject({
      refused: 'not_reversible',
    })
  })

  it.each(['at the verdict', 'at the verdict, by the reference', 'afterwards', 'now'])(
    'is refused where the provider confirmed it %s',
    async (when) => {
      if (when === 'at the verdict') desk.gateway.nextLookUp(() => found(ref))
      else unreachableByKey()
      if (when === 'at the verdict, by the reference') desk.gateway.knows(entryOf())
      await resolve()
      if (when === 'at the verdict, by the reference') desk.gateway.unreachable()
      if (when === 'afterwards')
        await recordEvidence(
          { store: bench.store },
          {
            recordId: key.id,
            source: 'webhook',
            sourceId: ref,
            attempt: null,
            executed: { kind: 'succeeded', ref },
          },
        )
      if (when === 'now') desk.gateway.knows(entryOf())
      expect(await reverse()).toMatchObject({ refused: 'not_reversible' })
      expect(await ledger()).toMatchObject([{ reversed: false }])
    },
  )

  it('is refused where a person accepted the money that the provider reported', async () => {
    const executed = { kind: 'succeeded', ref, shown: { effect: 'charge', ...ONE_YEN } } as const
    const webhook = { recordId: key.id, source: 'webhook', sourceId: ref, attempt: null } as const
    await recordEvidence({ store: bench.store }, { ...webhook, executed, differs: 'amount_differs' })
    unreachableByKey()
    await resolve({ version: key.version + 1, accept: ONE_YEN })
    expect(await reverse()).toMatchObject({ refused: 'not_reversible' })
  })

  it('is refused for an operator, and for an entry that there is not', async () => {
    unreachableByKey()
    await resolve()
    expect(await reverse(OLGA)).toMatchObject({ refused: 'forbidden' })
    expect(await desk.reverseEntry(ADA, { id: 'pay_00000000000000000000000000', reason: 'none' })).toMatchObject({
      refused: 'not_found',
    })
  })
})
