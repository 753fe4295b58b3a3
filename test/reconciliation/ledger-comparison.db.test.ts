// Our ledger against the provider's list: each kind of finding, once, and nothing that is still being worked on.
import { describe, expect, it } from 'vitest'
import { newId } from '../../lib/db/id'
import { providerKeyOf } from '../../lib/idempotency/record'
import { reconcile } from '../../lib/reconciliation/reconcile'
import { accepted, declined, found, newKey, newRef, orderOf, refused, timedOut } from '../support/boundary'
import {
  age,
  bench,
  compare,
  DAY,
  entries,
  entry,
  findings,
  gateway,
  HOUR,
  kinds,
  operations,
  order,
  remove,
} from './two-books'

describe('a ledger that agrees with the provider’s list', () => {
  it('yields no finding', async () => {
    for (let i = 0; i < 3; i++) entry(await order(HOUR), HOUR)
    expect(await compare()).toEqual({ listed: 3, booked: 3, unconfirmed: 0 })
    expect(await findings()).toEqual([])
  })

  it('yields no finding, even when the record is deleted', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR)
    await remove(paid.key)
    await compare()
    expect(await findings()).toEqual([])
  })

  it('yields no finding for failed, pending and foreign entries of the list', async () => {
    const no = await order(HOUR, { call: () => declined() as ReturnType<typeof refused> })
    entry(no, HOUR, { status: 'failed' })
    entry({ id: no.id, ref: newRef() }, HOUR, { status: 'pending' })
    entry({ id: no.id, ref: newRef() }, HOUR, { providerKey: null })
    expect(await compare()).toEqual({ listed: 0, booked: 0, unconfirmed: 0 })
    expect(await findings()).toEqual([])
  })
})

describe('a charge without an order', () => {
  it('is found when the record is completed as declined', async () => {
    const no = await order(HOUR, { call: () => declined() as ReturnType<typeof refused> })
    const charge = entry({ id: no.id, ref: newRef() }, HOUR)
    expect(await compare()).toMatchObject({ charge_without_order: 1 })
    expect(await findings()).toMatchObject([
      {
        kind: 'charge_without_order',
        subject: charge.ref,
        record_id: no.id,
        detail: {
          state: 'completed',
          ledger: null,
          provider: { amountCents: 2500, providerKey: providerKeyOf(no.id) },
        },
      },
    ])
  })

  it('is found when the ledger has this very charge as declined', async () => {
    const ref = newRef()
    const no = await order(HOUR, { call: () => declined(ref) as ReturnType<typeof refused> })
    entry({ id: no.id, ref }, HOUR)
    await compare()
    expect(await findings()).toMatchObject([{ kind: 'charge_without_order', detail: { ledger: { status: 'failed' } } }])
  })

  it('is found when the record is deleted or never existed', async () => {
    const gone = entry({ id: newId('idem'), ref: newRef() }, HOUR)
    const strange = entry({ id: 'x', ref: newRef() }, HOUR, { providerKey: 'not-one-of-ours' })
    await compare()
    expect(await findings()).toMatchObject(
      [gone, strange]
        .sort((a, b) => (a.ref < b.ref ? -1 : 1))
        .map(({ ref }) => ({
          kind: 'charge_without_order',
          subject: ref,
          record_id: ref === gone.ref ? expect.any(String) : null,
        })),
    )
  })
})

describe('an order without a charge', () => {
  it('is found when the provider lists no such charge', async () => {
    const paid = await order(HOUR)
    expect(await compare()).toMatchObject({ paid_without_charge: 1 })
    expect(await findings()).toMatchObject([
      {
        kind: 'paid_without_charge',
        subject: paid.ref,
        record_id: paid.id,
        detail: { ledger: { orderId: paid.orderId, amountCents: 2500, currency: 'USD', kind: 'charge' } },
      },
    ])
  })

  it('is found when the provider lists the charge as failed', async () => {
    entry(await order(HOUR), HOUR, { status: 'failed' })
    await compare()
    expect(await findings()).toMatchObject([{ kind: 'paid_without_charge' }])
  })
})

describe('amounts and currencies of ledger and provider', () => {
  it('that differ are one finding each', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR, { amountCents: 2501, currency: 'EUR' })
    expect(await compare()).toMatchObject({ amount_differs: 1, currency_differs: 1 })
    expect(await findings()).toMatchObject([
      {
        kind: 'amount_differs',
        subject: paid.ref,
        record_id: paid.id,
        detail: { provider: { amountCents: 2501 }, ledger: { amountCents: 2500, orderId: paid.orderId } },
      },
      {
        kind: 'currency_differs',
        subject: paid.ref,
        detail: { provider: { currency: 'EUR' }, ledger: { currency: 'USD' } },
      },
    ])
  })
})

describe('a charge that was made twice', () => {
  it('is found when only one of the two charges is in the ledger', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR)
    const second = entry({ id: paid.id, ref: newRef() }, HOUR)
    expect(await compare()).toMatchObject({ duplicate_charge: 1 })
    expect(await kinds()).toEqual([['duplicate_charge', second.ref]])
    expect((await findings())[0]).toMatchObject({ record_id: paid.id, detail: { bookedRef: paid.ref } })
  })

  it.each(['first', 'last'])('is found when the record is deleted and the booked one is listed %s', async (where) => {
    const paid = await order(HOUR)
    const second = entry({ id: paid.id, ref: newRef() }, HOUR)
    entry(paid, HOUR)
    if (where === 'first') entries.reverse()
    await remove(paid.key)
    await compare()
    expect(await kinds()).toEqual([['duplicate_charge', second.ref]])
  })

  it('is not reported for a charge and a refund with the same provider key', async () => {
    const gone = { id: newId('idem'), ref: newRef() }
    entry(gone, HOUR)
    entry({ ...gone, ref: newRef() }, HOUR, { kind: 'refund' })
    await compare()
    expect((await findings()).map(({ kind }) => kind)).toEqual(['charge_without_order', 'charge_without_order'])
  })

  it('is not reported for one entry that the provider’s pages list twice', async () => {
    const paid = await order(HOUR)
    entries.push(entry(paid, HOUR))
    expect(await compare()).toEqual({ listed: 1, booked: 1, unconfirmed: 0 })
  })
})

describe('the ledger comparison of a record that can still change', () => {
  it('leaves the record out while it is pending, in progress or unknown', async () => {
    const live: string[] = [newKey(), newKey(), newKey()]
    await bench.place(gateway, orderOf(), { key: live[0]!, ...accepted })
    gateway.nextCall(() => new Promise(() => {}))
    bench.place(gateway, orderOf(), { key: live[1]! }).catch(() => {})
    await expect.poll(() => gateway.calls.length).toBe(1)
    gateway.nextCall(timedOut)
    await bench.place(gateway, orderOf(), { key: live[2]! })
    const states: string[] = []
    for (const key of live) {
      const { id, state } = await bench.recordOf(key)
      states.push(state)
      entry({ id, ref: newRef() }, HOUR)
    }
    expect(states).toEqual(['pending', 'in_progress', 'unknown'])
    expect(await compare()).toEqual({ listed: 3, leftOut: 3, booked: 0, unconfirmed: 0 })
    expect(await findings()).toEqual([])
  })

  it('takes a listed charge of a failed_retryable record as evidence and settles the record', async () => {
    const lost = await order(HOUR, { call: refused })
    const charge = entry({ id: lost.id, ref: newRef() }, HOUR)
    expect(await compare({ dryRun: true })).toMatchObject({ evidence: 1 })
    expect((await bench.recordOf(lost.key)).state).toBe('failed_retryable')
    expect(await compare()).toMatchObject({ evidence: 1 })
    expect(await bench.recordOf(lost.key)).toMatchObject({ state: 'completed', effect_ref: charge.ref })
    expect(await bench.rows('SELECT source, verdict FROM evidence')).toEqual([
      { source: 'look_up', verdict: 'succeeded' },
    ])
    expect(await compare()).not.toHaveProperty('evidence')
    expect(await findings()).toEqual([])
  })
})

describe('what a comparison could not judge', () => {
  /** The next one lists nothing of it any more. */
  const nextWindow = async () => {
    entries.length = 0
    await bench.db.query(`UPDATE schedules SET covered_until = clock_timestamp() - interval '4 minutes'`)
  }

  it('because its record was unknown is judged by the next comparison, when its time is no longer listed', async () => {
    const key = newKey()
    gateway.nextCall(timedOut)
    await bench.place(gateway, orderOf(), { key })
    const { id, resource_id: orderId } = await bench.recordOf(key)
    entry({ id, ref: newRef() }, HOUR)
    expect(await compare()).toMatchObject({ leftOut: 1 })
    await nextWindow()
    expect(await compare(), 'it is unknown still').toMatchObject({ revisited: 1, leftOut: 1 })

    gateway.nextLookUp(() => found('ch_another'))
    await reconcile(
      { boundary: bench.boundary, operations: operations(), intervalMs: 1000, maxAttempts: 3 },
      id,
      'test',
    )
    await age(orderId, DAY)
    await nextWindow()
    expect(await compare()).toMatchObject({ revisited: 1, duplicate_charge: 1 })
    await nextWindow()
    expect(await compare()).not.toHaveProperty('revisited')
  })

  it.each([
    ['succeeded', { revisited: 1, charge_without_order: 1 }],
    ['failed', {}],
    ['pending', {}],
  ] as const)('because the provider had not decided is asked for, and judged as %s', async (status, counts) => {
    const undecided = entry({ id: 'idem_00000000000000000000000000', ref: newRef() }, HOUR, { status: 'pending' })
    expect(await compare()).toEqual({ listed: 0, booked: 0, unconfirmed: 0 })
    await nextWindow()
    gateway.knows({ ...undecided, status })
    expect(await compare()).toEqual({ listed: 0, booked: 0, unconfirmed: 0, ...counts })
    expect(await bench.rows('SELECT ref FROM ledger_revisits')).toHaveLength(status === 'pending' ? 1 : 0)
  })

  it('is kept while the provider can’t be asked, and by a dry run', async () => {
    entry({ id: 'idem_00000000000000000000000000', ref: newRef() }, HOUR, { status: 'pending' })
    await compare({ dryRun: true })
    expect(await bench.rows('SELECT 1 FROM ledger_revisits')).toEqual([])
    await compare()
    await nextWindow()
    await compare()
    expect(await bench.rows('SELECT 1 FROM ledger_revisits')).toHaveLength(1)
  })
})

describe('refunds', () => {
  it('are compared like charges, by the time of the refund and not of its order', async () => {
    const paid = await order(HOUR)
    entry(paid, HOUR)
    const ref = newRef()
    gateway.nextCall(() => ({ kind: 'succeeded', providerRef: ref }))
    const key = newKey()
    await bench.refund(gateway, paid.orderId, { amountCents: 500 }, { key })
    await age(paid.orderId, HOUR, 30 * DAY)
    await bench.db.query(`UPDATE refunds SET created_at = clock_timestamp() - interval '1 hour'`)
    const { id } = await bench.recordOf(key)
    entry({ id, ref }, HOUR, { kind: 'refund', amountCents: 499 })
    expect(await compare()).toEqual({ listed: 2, booked: 2, unconfirmed: 0, amount_differs: 1 })
    expect(await findings()).toMatchObject([{ kind: 'amount_differs', subject: ref, record_id: id }])
    entries.pop()
    await bench.db.query('UPDATE schedules SET covered_until = NULL')
    expect(await compare()).toMatchObject({ paid_without_charge: 1 })
  })

  it('whose provider reference is only in the ledger, as the first release wrote it, are compared too', async () => {
    const paid = await order(HOUR)
    const ref = newRef()
    gateway.nextCall(() => ({ kind: 'succeeded', providerRef: ref }))
    const key = newKey()
    await bench.refund(gateway, paid.orderId, { amountCents: 500 }, { key })
    await age(paid.orderId, HOUR, 30 * DAY)
    await bench.db.query(`UPDATE refunds SET created_at = clock_timestamp() - interval '1 hour', provider_ref = NULL`)
    const { id } = await bench.recordOf(key)
    entry(paid, HOUR)
    expect(await compare()).toMatchObject({ booked: 2, unconfirmed: 0, paid_without_charge: 1 })
    expect(await findings()).toMatchObject([{ kind: 'paid_without_charge', subject: ref, record_id: id }])
    expect(gateway.lookUps, 'the list tells').toEqual([])
  })
})
