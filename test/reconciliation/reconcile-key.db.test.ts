// A person asks the provider about one key.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { findWithRequest } from '../../lib/idempotency/store/find'
import { retryAfterSeconds } from '../../lib/idempotency/view'
import { runOnce } from '../../lib/maintenance/daemon'
import { reaper } from '../../lib/maintenance/reaper'
import { isRefused } from '../../lib/operators/refusal'
import { type Bench, barrier, found, newKey, openBench, orderOf } from '../support/boundary'
import { type Desk, OLGA, openDesk, PETR, UNREACHABLE, VERA } from './desk'

let bench: Bench
let desk: Desk

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(() => {
  desk = openDesk(bench)
})

const ask = (id: string) => desk.reconcileKey(OLGA, { id, reason: 'the customer is on the phone' })

describe('an operator’s reconciliation of a key', () => {
  it('settles the key and writes an audit entry when the provider’s answer is proof', async () => {
    const key = await desk.unknown()
    desk.gateway.nextLookUp(() => found('ch_1'))
    expect(await ask(key.id)).toMatchObject({
      verdict: 'succeeded',
      state: 'completed',
      evidence: [
        {
          id: expect.stringMatching(/^evd_/),
          source: 'look_up',
          verdict: 'succeeded',
          ref: 'ch_1',
          attempt: 1,
          createdAt: expect.any(String),
        },
      ],
    })
    expect(await desk.audit(key.id)).toEqual([
      {
        actor_id: 'opr_olga',
        action: 'key.reconcile',
        target: key.id,
        outcome: 'done',
        reason: 'the customer is on the phone',
        before: { state: 'unknown', version: key.version },
        after: { state: 'completed', version: key.version + 1, verdict: 'succeeded' },
        request_id: 'req_olga',
      },
    ])
    expect((await bench.recordOf(key.key)).timeline.at(-1)).toMatchObject({ by: 'operator:opr_olga' })
  })

  it('releases the key when the provider executed nothing', async () => {
    const key = await desk.unknown()
    await desk.pastSettleWindow(key.key)
    expect(await ask(key.id)).toMatchObject({ verdict: 'not_found', state: 'failed_retryable' })
    expect(await desk.audit(key.id)).toMatchObject([{ after: { state: 'failed_retryable', verdict: 'not_found' } }])
  })

  it('settles the key from stored evidence without a lookup', async () => {
    const key = await desk.unknown()
    const executed = { kind: 'succeeded', ref: 'ch_told' } as const
    await recordEvidence(
      { store: bench.store },
      { recordId: key.id, source: 'webhook', sourceId: 'evt_t', attempt: null, executed },
    )
    expect(await ask(key.id)).toMatchObject({ verdict: 'succeeded', state: 'completed' })
    expect(await desk.audit(key.id)).toMatchObject([
      { before: { state: 'unknown', version: key.version + 1 }, after: { state: 'completed', verdict: 'succeeded' } },
    ])
    expect(desk.gateway.lookUps).toHaveLength(0)
  })

  it.each([
    ['an unreachable provider', UNREACHABLE, 'unreachable'],
    ['a provider that has not decided', { kind: 'pending', providerRef: 'ch_p' }, 'pending'],
    ['a provider that finds nothing, too early for proof', { kind: 'not_found' }, 'not_found'],
  ] as const)('leaves the key unknown with %s, and the audit log has the verdict', async (_, outcome, verdict) => {
    const key = await desk.unknown()
    desk.gateway.nextLookUp(() => outcome)
    expect(await ask(key.id)).toMatchObject({ verdict, state: 'unknown', evidence: [] })
    const seen = { state: 'unknown', version: key.version }
    expect(await desk.audit(key.id)).toMatchObject([{ before: seen, after: { ...seen, verdict } }])
  })

  it.each([
    ['is unreachable', UNREACHABLE],
    ['has not decided', { kind: 'pending', providerRef: 'ch_p' }],
  ] as const)(
    'changes nothing when the provider %s: no look-up counts and the next one stays where it is',
    async (_, outcome) => {
      const key = await desk.unknown()
      const before = await bench.recordOf(key.key)
      desk.gateway.nextLookUp(() => outcome)
      await ask(key.id)
      expect(await bench.recordOf(key.key)).toEqual(before)
    },
  )

  it('is rate-limited within a second of another ask about the same key, by whomever, and not about another key', async () => {
    const [key, other] = [await desk.unknown(), await desk.unknown()]
    const asks = await Promise.all([ask(key.id), desk.reconcileKey(PETR, { id: key.id }), ask(other.id)])
    expect(asks.filter(isRefused)).toEqual([{ refused: 'rate_limited', detail: expect.any(String), afterSeconds: 1 }])
    expect(asks[2]).toMatchObject({ verdict: 'not_found' })
    await desk.nextAsk(key.id)
    expect(await ask(key.id)).toMatchObject({ verdict: 'not_found' })
    expect(desk.gateway.lookUps).toHaveLength(3)
  })

  it('has clients told to come back at once while it is under way', async () => {
    const key = await desk.unknown()
    await bench.rows(
      `UPDATE idempotency_records SET reconcile_after = clock_timestamp() + interval '1 h' WHERE id = $1`,
      [key.id],
    )
    const retryIn = async () => retryAfterSeconds((await findWithRequest(bench.store, key.id))!.record)
    const look = barrier()
    desk.gateway.nextLookUp(() => look.pass().then(() => UNREACHABLE))
    const asking = ask(key.id)
    await look.reached
    expect(await retryIn()).toBe(1)
    look.open()
    await asking
    expect(await retryIn()).toBe(3600)
  })

  it('only reports the verdict when the outcome is already known', async () => {
    const key = newKey()
    await bench.place(desk.gateway, orderOf(), { key })
    const before = await bench.recordOf(key)
    desk.gateway.nextLookUp(() => found('ch_elsewhere'))
    expect(await ask(before.id)).toMatchObject({ verdict: 'succeeded', state: 'completed', evidence: [] })
    expect(await bench.recordOf(key)).toEqual(before)
    expect(await desk.audit(before.id)).toHaveLength(1)
  })

  it('reports the current state when another reconciliation was faster', async () => {
    const key = await desk.unknown()
    const look = barrier()
    desk.gateway.nextLookUp(
      () => look.pass().then(() => UNREACHABLE),
      () => found('ch_fast'),
    )
    const asking = ask(key.id)
    await look.reached
    await desk.nextAsk(key.id)
    await desk.reconcileKey(OLGA, { id: key.id })
    look.open()
    expect(await asking).toMatchObject({ verdict: 'unreachable', state: 'completed', evidence: [{ ref: 'ch_fast' }] })
    // One entry tells of the move: that of who made it.
    const after = { state: 'completed', version: key.version + 1 }
    expect(await desk.audit(key.id)).toMatchObject([
      { before: { state: 'unknown', version: key.version }, after },
      { before: after, after: { ...after, verdict: 'unreachable' } },
    ])
  })

  it('is refused for a key whose request was refused or erased', async () => {
    const refused = newKey()
    await bench.refund(desk.gateway, 'ord_none', {}, { key: refused })
    expect(await ask((await bench.recordOf(refused)).id)).toMatchObject({ refused: 'nothing_to_ask' })
    const erased = newKey()
    await bench.place(desk.gateway, orderOf(), { key: erased })
    await bench.endRetention(erased)
    await runOnce(reaper(bench.store, { tombstoneHours: 1, operations: desk.operations }))
    expect(await ask((await bench.recordOf(erased)).id)).toMatchObject({ refused: 'nothing_to_ask' })
    expect(await ask('idem_00000000000000000000000000')).toMatchObject({ refused: 'not_found' })
  })

  it('is forbidden for viewers', async () => {
    const key = await desk.unknown()
    expect(await desk.reconcileKey(VERA, { id: key.id })).toMatchObject({ refused: 'forbidden' })
    expect(desk.gateway.lookUps).toHaveLength(0)
  })

  it('changes nothing when the audit entry cannot be written, and opens no discrepancy', async () => {
    const key = await desk.unknown()
    const before = await bench.recordOf(key.key)
    await bench.rows(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no entry' USING ERRCODE = 'check_violation'; END $$`)
    await bench.rows('CREATE TRIGGER a_refuse BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION refuse()')
    try {
      desk.gateway.nextLookUp(() => found('ch_unlogged'))
      await expect(ask(key.id)).rejects.toThrow('no entry')
    } finally {
      await bench.rows('DROP TRIGGER a_refuse ON audit_entries')
      await bench.rows('DROP FUNCTION refuse')
    }
    expect(await bench.recordOf(key.key)).toEqual(before)
    expect(await bench.rows('SELECT 1 FROM discrepancies WHERE record_id = $1', [key.id])).toEqual([])
  })
})
