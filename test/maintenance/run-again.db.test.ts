// A person has an accepted request run again that is proven not executed.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runAcceptedJob } from '../../lib/jobs/run-accepted'
import { migrateJobs } from '../../lib/jobs/worker'
import { runOnce } from '../../lib/maintenance/daemon'
import { sweeper } from '../../lib/maintenance/sweeper'
import { bulkActions } from '../../lib/reconciliation/bulk-actions'
import { type Desk, OLGA, openDesk, PETR, VERA } from '../reconciliation/desk'
import { accepted, type Bench, charged, newKey, openBench, orderOf, refused, timedOut } from '../support/boundary'

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

const work = (id: string) => runAcceptedJob(desk.boundary, desk.operations, id)

async function acceptedKey(script: Parameters<Desk['gateway']['nextCall']>[0] = refused) {
  const key = newKey()
  await bench.place(desk.gateway, orderOf(), { key, ...accepted })
  const { id } = await bench.recordOf(key)
  desk.gateway.nextCall(script)
  await work(id)
  return { key, id, version: (await bench.recordOf(key)).version }
}

async function deadLetter() {
  const key = await acceptedKey()
  await bench.endRerunning(key.key)
  await work(key.id)
  expect(await bench.recordOf(key.key)).toMatchObject({ dead_lettered_at: expect.any(Date), version: key.version })
  return key
}

const jobOf = async (id: string) => {
  const [job] = await bench.rows<{ due: boolean }>(
    'SELECT run_at <= clock_timestamp() AS due FROM graphile_worker.jobs WHERE key = $1',
    [id],
  )
  return job ?? null
}

const runAgain = ({ id, version }: { id: string; version: number }, call = OLGA) =>
  desk.runKeyAgain(call, { id, version, reason: 'the provider is back' })

describe('running an accepted key again', () => {
  it('hands a dead letter to a worker at once, which settles it', async () => {
    const key = await deadLetter()
    expect(await runAgain(key)).toMatchObject({
      id: key.id,
      state: 'failed_retryable',
      deadLetteredAt: null,
      version: key.version + 1,
    })
    expect(await jobOf(key.id)).toEqual({ due: true })
    desk.gateway.nextCall(() => charged())
    await work(key.id)
    const record = await bench.recordOf(key.key)
    expect(record).toMatchObject({ state: 'completed', response_status: 201, attempt: 2 })
    expect(record.timeline.slice(-4).map(({ event, by }) => [event, by])).toEqual([
      ['dead_lettered', 'node-1'],
      ['run_again', 'operator:opr_olga'],
      ['claimed', 'node-1'],
      ['settled', 'node-1'],
    ])
  })

  it('is good for one attempt: past creation plus retention, the next failure is a dead letter again', async () => {
    const key = await deadLetter()
    await runAgain(key)
    desk.gateway.nextCall(refused)
    await work(key.id)
    await work(key.id)
    expect(await bench.recordOf(key.key)).toMatchObject({
      state: 'failed_retryable',
      attempt: 2,
      dead_lettered_at: expect.any(Date),
    })
    expect(desk.gateway.calls).toHaveLength(2)
  })

  it('brings the next run of a key forward that is not a dead letter', async () => {
    const key = await acceptedKey()
    expect(await jobOf(key.id)).toEqual({ due: false })
    expect(await runAgain(key)).toMatchObject({ state: 'failed_retryable' })
    expect(await jobOf(key.id)).toEqual({ due: true })
  })

  it('survives the loss of its job: the sweeper gives the key to a worker, which runs it', async () => {
    const key = await deadLetter()
    await runAgain(key)
    await bench.rows('SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs WHERE key = $1', [
      key.id,
    ])
    await runOnce(sweeper({ ...desk.boundary, leaseMs: 1 }, desk.operations))
    expect(await jobOf(key.id)).toEqual({ due: true })
    await work(key.id)
    expect(await bench.recordOf(key.key)).toMatchObject({ state: 'completed', attempt: 2 })
  })

  it('is refused for an outdated version first, then for any key but an accepted failed_retryable one', async () => {
    const key = await acceptedKey()
    expect(await runAgain({ ...key, version: key.version - 1 })).toMatchObject({
      refused: 'changed_since_loaded',
      current: { state: 'failed_retryable', version: key.version },
    })
    await runAgain(key)
    expect(await runAgain(key, PETR)).toMatchObject({ refused: 'changed_since_loaded' })
    desk.gateway.nextCall(refused)
    const synchronous = newKey()
    await bench.place(desk.gateway, orderOf(), { key: synchronous })
    for (const other of [
      await acceptedKey(timedOut),
      await acceptedKey(() => charged()),
      await bench.recordOf(synchronous),
    ])
      expect(await runAgain(other)).toMatchObject({ refused: 'not_runnable' })
    expect(await runAgain({ id: 'idem_00000000000000000000000000', version: 1 })).toMatchObject({
      refused: 'not_found',
    })
  })

  it('is refused for a key with evidence of a charge, and for one past its expiry', async () => {
    const [told, over] = [await deadLetter(), await deadLetter()]
    await bench.rows('UPDATE idempotency_records SET effect_evidence = true WHERE id = $1', [told.id])
    await bench.endRetention(over.key)
    for (const key of [told, over]) expect(await runAgain(key)).toMatchObject({ refused: 'not_runnable' })
  })

  it('is done once by a bulk run whose worker was killed before it wrote that down', async () => {
    const key = await deadLetter()
    const act = () =>
      bulkActions(desk.reconciliation)['run-again'](
        { id: 'run_killed', reason: 'the provider is back', actor: OLGA.actor },
        key.id,
      )
    const done = { verdict: 'runAgain', state: 'failed_retryable', settled: false }
    expect(await act()).toEqual(done)
    desk.gateway.nextCall(refused)
    await work(key.id)
    const before = await bench.recordOf(key.key)
    expect(before).toMatchObject({ attempt: 2, dead_lettered_at: expect.any(Date) })
    expect(await act()).toEqual(done)
    expect(await bench.recordOf(key.key)).toEqual(before)
  })

  it('is in the audit log with who, why, before and after, and forbidden for viewers', async () => {
    const key = await deadLetter()
    expect(await runAgain(key, VERA)).toMatchObject({ refused: 'forbidden' })
    await runAgain(key)
    const [, entry] = await desk.audit(key.id)
    expect(entry).toEqual({
      actor_id: 'opr_olga',
      action: 'key.run_again',
      target: key.id,
      outcome: 'done',
      reason: 'the provider is back',
      before: { state: 'failed_retryable', version: key.version },
      after: { state: 'failed_retryable', version: key.version + 1 },
      request_id: 'req_olga',
    })
  })
})
