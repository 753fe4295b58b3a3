// Dead letters that are looked up by schedule again: on a person's word, or when the provider is back.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runOnce } from '../../lib/maintenance/daemon'
import { bulkActions } from '../../lib/reconciliation/bulk-actions'
import { reconciler } from '../../lib/reconciliation/reconciler'
import { type Bench, found, openBench } from '../support/boundary'
import { type Desk, OLGA, openDesk, PETR, UNREACHABLE, VERA } from './desk'

let bench: Bench
let desk: Desk

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(async () => {
  desk = openDesk(bench)
  await bench.rows('TRUNCATE idempotency_records, orders, refunds, ledger_entries, evidence, look_up_answers CASCADE')
})

type Unknown = Awaited<ReturnType<Desk['unknown']>>

const run = () => runOnce(reconciler({ ...desk.reconciliation, lookUpLimitMs: 1000 }))
/** In the past: a column of milliseconds rounds a time that is now up to one that is not yet. */
const makeDue = (...keys: Unknown[]) =>
  bench.rows(`UPDATE idempotency_records SET reconcile_after = clock_timestamp() - interval '1 s' WHERE id = ANY($1)`, [
    keys.map(({ id }) => id),
  ])
/** As if the key had been unknown for so long, and the last answer before were as old. */
async function since({ id }: Unknown, ago: string): Promise<void> {
  await bench.rows(
    `UPDATE idempotency_records SET timeline = (
       SELECT jsonb_agg(e || jsonb_build_object('at', (e->>'at')::timestamptz - $2::interval)) FROM jsonb_array_elements(timeline) e)
     WHERE id = $1`,
    [id, ago],
  )
  await bench.rows(`UPDATE look_up_answers SET answered_at = answered_at - $1::interval`, [ago])
}
const silent = () => UNREACHABLE
const answered = () => found()

/** Asked about until nobody asks any more; only these are due meanwhile. */
async function becomeDeadLetters(...keys: Unknown[]): Promise<void> {
  while ((await bench.recordOf(keys[0]!.key)).dead_lettered_at === null) {
    await makeDue(...keys)
    desk.gateway.nextLookUp(...keys.map(() => silent))
    await run()
  }
  for (const { key } of keys) expect(await bench.recordOf(key)).toMatchObject({ dead_lettered_at: expect.any(Date) })
}

async function oneAnswer(): Promise<void> {
  const other = await desk.unknown()
  await makeDue(other)
  desk.gateway.nextLookUp(answered)
  await run()
  expect((await bench.recordOf(other.key)).state).toBe('completed')
}

const resume = ({ id, version }: { id: string; version: number }, call = OLGA) =>
  desk.resumeKey(call, { id, version, reason: 'the provider has mended its index' })

describe('resuming a dead letter', () => {
  it('has it looked up by schedule again, from the first interval', async () => {
    const key = await desk.unknown()
    await becomeDeadLetters(key)
    expect(await resume(key)).toMatchObject({
      id: key.id,
      state: 'unknown',
      version: key.version + 1,
      deadLetteredAt: null,
      reconcileAttempts: 0,
      reconcileAfter: expect.any(String),
    })
    desk.gateway.nextLookUp(silent)
    await run()
    const record = await bench.recordOf(key.key)
    expect(record).toMatchObject({ reconcile_attempts: 1, dead_lettered_at: null })
    const lookedUpAt = Date.parse(record.timeline.at(-1)!.at)
    expect(record.reconcile_after!.getTime() - lookedUpAt).toBeLessThanOrEqual(desk.reconciliation.intervalMs + 1)
    expect(record.timeline.at(-2)).toMatchObject({ event: 'resumed', by: 'operator:opr_olga' })
  })

  it('is refused for an outdated version first, then for any key but a dead letter', async () => {
    const key = await desk.unknown()
    expect(await resume({ ...key, version: key.version - 1 })).toMatchObject({ refused: 'changed_since_loaded' })
    expect(await resume(key)).toMatchObject({ refused: 'not_dead_lettered' })
    await becomeDeadLetters(key)
    await resume(key)
    expect(await resume(key, PETR)).toMatchObject({ refused: 'changed_since_loaded' })
    expect(await resume({ ...key, version: key.version + 1 })).toMatchObject({ refused: 'not_dead_lettered' })
    expect(await resume({ id: 'idem_00000000000000000000000000', version: 1 })).toMatchObject({ refused: 'not_found' })
  })

  it('is in the audit log, and forbidden for viewers', async () => {
    const key = await desk.unknown()
    await becomeDeadLetters(key)
    expect(await resume(key, VERA)).toMatchObject({ refused: 'forbidden' })
    await resume(key)
    const [, entry] = await desk.audit(key.id)
    expect(entry).toMatchObject({
      actor_id: 'opr_olga',
      action: 'key.resume',
      reason: 'the provider has mended its index',
      before: { state: 'unknown', version: key.version },
      after: { state: 'unknown', version: key.version + 1 },
    })
  })
})

describe('dead letters', () => {
  it('are resumed when the provider answers another look-up after it had answered none', async () => {
    const keys = [await desk.unknown(), await desk.unknown()]
    await becomeDeadLetters(...keys)
    await oneAnswer()
    for (const { key } of keys)
      expect(await bench.recordOf(key)).toMatchObject({ dead_lettered_at: null, reconcile_attempts: 0 })
    desk.gateway.nextLookUp(answered, answered)
    expect(await run()).toMatchObject({ lookUps: 2, settled: 2 })
  })

  it('are resumed when the provider answers a person who asks about one of them', async () => {
    const [asked, other] = [await desk.unknown(), await desk.unknown()]
    await becomeDeadLetters(asked, other)
    desk.gateway.nextLookUp(answered)
    expect(await desk.reconcileKey(OLGA, { id: asked.id })).toMatchObject({ verdict: 'succeeded' })
    expect(await bench.recordOf(other.key)).toMatchObject({ state: 'unknown', dead_lettered_at: null })
  })

  it('are resumed when the provider answers a bulk run about one of them', async () => {
    const [asked, other] = [await desk.unknown(), await desk.unknown()]
    await becomeDeadLetters(asked, other)
    desk.gateway.nextLookUp(answered)
    const run = { id: 'run_answered', reason: 'the provider is back', actor: OLGA.actor }
    expect(await bulkActions(desk.reconciliation).reconcile(run, asked.id)).toMatchObject({ settled: true })
    expect(await bench.recordOf(other.key)).toMatchObject({ state: 'unknown', dead_lettered_at: null })
  })

  it('are resumed after an outage that began while some look-ups were still answered, their own too early among them', async () => {
    const key = await desk.unknown()
    await run()
    expect((await bench.recordOf(key.key)).timeline.at(-1)).toMatchObject({ verdict: 'too_early' })
    await oneAnswer()
    await becomeDeadLetters(key)
    await since(key, '5 h')
    await oneAnswer()
    expect(await bench.recordOf(key.key)).toMatchObject({ dead_lettered_at: null, reconcile_attempts: 0 })
  })

  it('stay when their own look-ups fail while others are answered', async () => {
    const key = await desk.unknown()
    await makeDue(key)
    desk.gateway.nextLookUp(silent)
    await run()
    await becomeDeadLetters(key)
    await since(key, '5 h')
    await bench.rows(`INSERT INTO look_up_answers VALUES ('provider', clock_timestamp() - interval '1 h')`)
    await oneAnswer()
    expect(await bench.recordOf(key.key)).toMatchObject({ dead_lettered_at: expect.any(Date) })
    await oneAnswer()
    expect(await bench.recordOf(key.key)).toMatchObject({ dead_lettered_at: expect.any(Date) })
  })

  it('are resumed all, however many they are', async () => {
    const key = await desk.unknown()
    await becomeDeadLetters(key)
    await bench.rows('ALTER TABLE idempotency_records DISABLE TRIGGER USER')
    await bench.rows(
      `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('id', 'idem_' || lpad(n::text, 26, '0'),
         'key', 'many-dead-letters-' || n))).* FROM idempotency_records r, generate_series(1, 1100) n WHERE r.id = $1`,
      [key.id],
    )
    await bench.rows('ALTER TABLE idempotency_records ENABLE TRIGGER USER')
    desk.gateway.nextLookUp(answered)
    expect(await desk.reconcileKey(OLGA, { id: key.id })).toMatchObject({ verdict: 'succeeded' })
    expect(
      await bench.rows('SELECT count(*)::int AS n FROM idempotency_records WHERE dead_lettered_at IS NOT NULL'),
    ).toEqual([{ n: 0 }])
  })

  it('stay when they are older than the last answer before', async () => {
    const key = await desk.unknown()
    await becomeDeadLetters(key)
    await bench.rows(`INSERT INTO look_up_answers VALUES ('provider', clock_timestamp())`)
    await oneAnswer()
    expect(await bench.recordOf(key.key)).toMatchObject({ dead_lettered_at: expect.any(Date) })
  })

  it.each(['amount_differs', 'restored_differs'])('stay when only a person ends them: %s', async (code) => {
    const key = await desk.unknown()
    await becomeDeadLetters(key)
    await bench.rows('UPDATE idempotency_records SET last_error_code = $2 WHERE id = $1', [key.id, code])
    await oneAnswer()
    const record = await bench.recordOf(key.key)
    expect(record).toMatchObject({ dead_lettered_at: expect.any(Date) })
    expect(await resume(record)).toMatchObject({ state: 'unknown', deadLetteredAt: null })
  })

  it('of other money that a person resumed end again after the look-ups of a schedule, unsettled', async () => {
    const key = await desk.unknown()
    await becomeDeadLetters(key)
    await bench.rows(
      `UPDATE idempotency_records SET money_differs = true, last_error_code = 'amount_differs' WHERE id = $1`,
      [key.id],
    )
    await resume(key)
    for (let lookUp = 1; lookUp <= desk.reconciliation.maxAttempts; lookUp++) {
      await makeDue(key)
      desk.gateway.nextLookUp(answered)
      await run()
    }
    expect(await bench.recordOf(key.key)).toMatchObject({
      state: 'unknown',
      dead_lettered_at: expect.any(Date),
      last_error_code: 'amount_differs',
    })
  })

  it('stay while no look-up is answered', async () => {
    const [key, other] = [await desk.unknown(), await desk.unknown()]
    await becomeDeadLetters(key)
    await makeDue(other)
    desk.gateway.nextLookUp(silent)
    await run()
    expect(await bench.recordOf(key.key)).toMatchObject({ dead_lettered_at: expect.any(Date) })
  })
})
