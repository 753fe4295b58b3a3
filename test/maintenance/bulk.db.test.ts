// One action on many keys: fixed when the run is made, done once each, whoever lives to do it.
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { KeyFilter } from '../../lib/console/keys-filter'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import type { BulkAction, Outcome } from '../../lib/maintenance/bulk'
import type { RunItem } from '../../lib/maintenance/run-history'
import { failDeadRuns, findRun, type Run } from '../../lib/maintenance/runs'
import type { Call } from '../../lib/operators/actor'
import { isRefused } from '../../lib/operators/refusal'
import { currentRequestId } from '../../lib/request-context'
import { type Desk, type DeskOptions, OLGA, openDesk, UNREACHABLE, VERA } from '../reconciliation/desk'
import { type Barrier, type Bench, barrier, found, newKey, openBench } from '../support/boundary'

let bench: Bench
let desks: Desk[]

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(async () => {
  desks = []
  await bench.rows('TRUNCATE runs, run_items, idempotency_records, orders, refunds, ledger_entries, evidence CASCADE')
  return () => Promise.all(desks.map(({ runner }) => runner.stop()))
})

function newDesk(options: DeskOptions = {}): Desk {
  const desk = openDesk(bench, options)
  desks.push(desk)
  return desk
}

const DONE: Outcome = { verdict: 'succeeded', state: 'completed', settled: true }
const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `idem_${i}`)

type Keys = { ids: string[] } | { filter: KeyFilter }
async function begin(desk: Desk, asked: Keys, call: Call = OLGA): Promise<Run> {
  const run = await desk.runBulk(call, { action: 'reconcile', reason: 'the provider is back', ...asked })
  if (isRefused(run)) throw new Error(run.refused)
  return run
}

const runOf = async (id: string): Promise<Run> => (await findRun(bench.store, id))!
async function ended(id: string): Promise<Run> {
  await expect.poll(async () => (await runOf(id)).state).not.toBe('running')
  return runOf(id)
}
const itemsOf = (id: string) =>
  bench.rows<{ record_id: string; outcome: Outcome | null }>(
    'SELECT record_id, outcome FROM run_items WHERE run_id = $1 ORDER BY position',
    [id],
  )
/** As if its worker had been silent for a minute. */
const fallSilent = (id: string) =>
  bench.rows(`UPDATE runs SET heartbeat_at = clock_timestamp() - interval '61 s' WHERE id = $1`, [id])

/** An action that says what it is asked to do, and can be held in the middle of a batch. */
function scripted() {
  const asked: string[] = []
  const holds = new Map<string, Barrier>()
  const action: BulkAction = async (_, recordId) => {
    asked.push(recordId)
    await holds.get(recordId)?.pass()
    return DONE
  }
  return {
    action,
    asked,
    hold(recordId: string) {
      const held = barrier()
      holds.set(recordId, held)
      return held
    },
  }
}

describe('a bulk run', () => {
  it('looks up every key that matched when the run was created, and none that matches later', async () => {
    const desk = newDesk()
    const keys = [await desk.unknown(), await desk.unknown()]
    const first = barrier()
    desk.gateway.nextLookUp(
      () => first.pass().then(() => found('ch_a')),
      () => found('ch_b'),
    )
    const run = await begin(desk, { filter: { state: ['unknown'] } })
    expect(run).toMatchObject({ kind: 'bulk', state: 'running', total: 2, requestedBy: 'opr_olga', dryRun: false })
    await first.reached
    const later = await desk.unknown()
    first.open()
    expect(await ended(run.id)).toMatchObject({
      state: 'succeeded',
      done: 2,
      counts: { lookUps: 2, succeeded: 2, settled: 2 },
    })
    const items = await itemsOf(run.id)
    expect(items.map(({ record_id }) => record_id).sort()).toEqual(keys.map(({ id }) => id).sort())
    expect(items.map(({ outcome }) => outcome)).toEqual([DONE, DONE])
    expect((await bench.recordOf(later.key)).state).toBe('unknown')
  })

  it('stores one outcome for each named key, even for a repeated id or an id that does not exist', async () => {
    const desk = newDesk()
    const [settled, away] = [await desk.unknown(), await desk.unknown()]
    const refused = newKey()
    await bench.refund(desk.gateway, 'ord_none', {}, { key: refused })
    const { id: refusedId } = await bench.recordOf(refused)
    const answer = ({ providerKey }: { providerKey: string }) =>
      providerKey.endsWith(settled.id) ? found('ch_bulk') : UNREACHABLE
    desk.gateway.nextLookUp(answer, answer)
    const run = await begin(desk, { ids: [settled.id, 'idem_nobody', away.id, refusedId, settled.id] })
    expect(await ended(run.id)).toMatchObject({
      total: 4,
      done: 4,
      counts: { lookUps: 2, succeeded: 1, settled: 1, unreachable: 1, errors: 2 },
    })
    expect(await itemsOf(run.id)).toEqual([
      { record_id: settled.id, outcome: DONE },
      { record_id: 'idem_nobody', outcome: { error: 'not_found' } },
      { record_id: away.id, outcome: { verdict: 'unreachable', state: 'unknown', settled: false } },
      { record_id: refusedId, outcome: { error: 'nothing_to_ask' } },
    ])
  })

  it('is in the audit log under the requesting operator, and so is every key that it moved', async () => {
    const desk = newDesk()
    const key = await desk.unknown()
    desk.gateway.nextLookUp(() => found('ch_logged'))
    const run = await begin(desk, { filter: { state: ['unknown'] } })
    await ended(run.id)
    expect(await desk.audit(run.id)).toMatchObject([
      {
        actor_id: 'opr_olga',
        action: 'key.bulk',
        reason: 'the provider is back',
        after: { action: 'reconcile', filter: { state: ['unknown'] }, keys: 1 },
        request_id: 'req_olga',
      },
    ])
    expect(await desk.audit(key.id)).toMatchObject([
      {
        actor_id: 'opr_olga',
        action: 'key.reconcile',
        reason: 'the provider is back',
        before: { state: 'unknown', version: key.version },
        after: { state: 'completed', version: key.version + 1, verdict: 'succeeded' },
        request_id: run.id,
      },
    ])
    expect((await bench.recordOf(key.key)).timeline.at(-1)).toMatchObject({ event: 'settled', by: run.id })
  })

  it('is not created for a viewer, nor when its audit entry cannot be written', async () => {
    const desk = newDesk({ bulk: scripted().action })
    expect(await desk.runBulk(VERA, { action: 'reconcile', ids: ['a'], reason: 'x' })).toMatchObject({
      refused: 'forbidden',
    })
    await bench.rows('ALTER TABLE audit_entries ADD CONSTRAINT refused CHECK (action <> $$key.bulk$$) NOT VALID')
    await expect(begin(desk, { ids: ['a'] })).rejects.toThrow('refused')
    await bench.rows('ALTER TABLE audit_entries DROP CONSTRAINT refused')
    expect(await bench.rows('SELECT 1 FROM runs')).toEqual([])
    expect(await bench.rows('SELECT 1 FROM run_items')).toEqual([])
  })

  it('is created once for one call, however often the call is repeated', async () => {
    const { action, asked } = scripted()
    const desk = newDesk({ bulk: action })
    const call = { ...OLGA, newId: () => 'run_same' }
    const runs = await Promise.all([begin(desk, { ids: idsOf(3) }, call), begin(desk, { ids: idsOf(3) }, call)])
    expect(runs.map(({ id }) => id)).toEqual(['run_same', 'run_same'])
    await ended('run_same')
    await begin(desk, { ids: idsOf(3) }, call)
    await desk.runner.stop()
    expect(asked).toHaveLength(3)
    expect(await desk.audit('run_same')).toHaveLength(1)
  })

  it('accepts ten thousand keys and refuses more', async () => {
    const desk = newDesk({ bulk: scripted().action })
    const asked = { action: 'reconcile', reason: 'all of them' } as const
    expect(await desk.runBulk(OLGA, { ...asked, ids: idsOf(10_001) })).toMatchObject({ refused: 'too_many_keys' })
    expect(await bench.rows('SELECT 1 FROM runs')).toEqual([])
    const run = await begin(desk, { ids: idsOf(10_000) })
    expect(run).toMatchObject({ total: 10_000 })
    expect(run.sample).toHaveLength(100)
    await desk.abortRun(OLGA, { id: run.id })
    await ended(run.id)
  })

  it('succeeds at once when no key matches', async () => {
    const run = await begin(newDesk(), { filter: { state: ['unknown'] } })
    expect(await ended(run.id)).toMatchObject({ state: 'succeeded', done: 0, total: 0 })
  })

  it('continues with the other keys when the action throws for one key', async () => {
    const desk = newDesk({
      bulk: async (_, id) => {
        if (id === 'idem_1') throw new Error('a bug')
        return DONE
      },
    })
    const run = await begin(desk, { ids: idsOf(3) })
    expect(await ended(run.id)).toMatchObject({ state: 'succeeded', counts: { settled: 2, errors: 1 } })
    expect((await itemsOf(run.id))[1]).toEqual({ record_id: 'idem_1', outcome: { error: 'internal_error' } })
  })

  it('works on twenty keys at a time, with its run id as the request id', async () => {
    const names = new Set<string | undefined>()
    let [now, most] = [0, 0]
    const desk = newDesk({
      bulk: async () => {
        names.add(currentRequestId())
        most = Math.max(most, ++now)
        await new Promise((resolve) => setImmediate(resolve))
        now--
        return DONE
      },
    })
    const run = await begin(desk, { ids: idsOf(45) })
    expect(await ended(run.id)).toMatchObject({ done: 45 })
    expect([...names]).toEqual([run.id])
    expect(most).toBe(20)
  })

  it('shows its keys page by page', async () => {
    const desk = newDesk({ bulk: scripted().action })
    const run = await begin(desk, { ids: idsOf(5) })
    await ended(run.id)
    const seen: RunItem[] = []
    for (let after: number | null = 0; after !== null; ) {
      const page = await desk.showRun(VERA, { id: run.id, limit: 2, after })
      if (isRefused(page)) throw new Error(page.refused)
      expect(page.items!.length).toBeLessThanOrEqual(2)
      seen.push(...page.items!)
      after = page.next
    }
    expect(seen.map(({ recordId }) => recordId)).toEqual(idsOf(5))
    expect(seen[0]).toMatchObject({ position: 1, outcome: DONE, doneAt: expect.any(Date) })
  })
})

describe('aborting a bulk run', () => {
  it('ends the run after its current batch and keeps what is done', async () => {
    const { action, asked, hold } = scripted()
    const held = hold('idem_25')
    const desk = newDesk({ bulk: action })
    const run = await begin(desk, { ids: idsOf(60) })
    await held.reached
    expect(await desk.abortRun(OLGA, { id: run.id, reason: 'the wrong filter' })).toMatchObject({ state: 'running' })
    held.open()
    expect(await ended(run.id)).toMatchObject({ state: 'aborted', done: 40 })
    expect(asked).toHaveLength(40)
    expect((await itemsOf(run.id)).filter(({ outcome }) => outcome === null)).toHaveLength(20)
    expect(await desk.audit(run.id)).toMatchObject([
      { action: 'key.bulk' },
      { action: 'run.abort', reason: 'the wrong filter' },
    ])
  })

  it('ends a run whose worker is dead as soon as another node takes it over', async () => {
    const { action, hold, asked } = scripted()
    const held = hold('idem_0')
    const dead = newDesk({ bulk: action })
    const run = await begin(dead, { ids: idsOf(1) })
    await held.reached
    await fallSilent(run.id)
    const other = newDesk({ bulk: action, boundary: { nodeId: 'node-2' } })
    await other.abortRun(OLGA, { id: run.id })
    other.runner.resume()
    expect(await ended(run.id)).toMatchObject({ state: 'aborted', done: 0 })
    held.open()
    expect(asked).toHaveLength(1)
  })
})

describe('the worker of a bulk run', () => {
  it('is replaced when its heartbeat stops: the next worker does only the rest, and the old one changes nothing', async () => {
    const old = scripted()
    const held = old.hold('idem_25')
    const dead = newDesk({ bulk: old.action })
    const run = await begin(dead, { ids: idsOf(45) })
    await held.reached

    const next = scripted()
    const other = newDesk({ bulk: next.action, boundary: { nodeId: 'node-2' } })
    other.runner.resume()
    await fallSilent(run.id)
    expect(await ended(run.id)).toMatchObject({ state: 'succeeded', done: 45, counts: { settled: 45 } })
    // The batch that was not written down is done again; what was written down is not.
    expect(next.asked).toEqual(idsOf(45).slice(20))

    const before = await bench.rows('SELECT * FROM runs')
    held.open()
    await dead.runner.stop()
    expect(old.asked).toHaveLength(40)
    expect(await bench.rows('SELECT * FROM runs')).toEqual(before)
  })

  it('changes nothing after it was replaced, even while its successor is still working', async () => {
    const [old, next] = [scripted(), scripted()]
    const [oldHeld, nextHeld] = [old.hold('idem_0'), next.hold('idem_0')]
    const slow = newDesk({ bulk: old.action })
    const run = await begin(slow, { ids: idsOf(25) })
    await oldHeld.reached
    await fallSilent(run.id)
    newDesk({ bulk: next.action, boundary: { nodeId: 'node-2' } }).runner.resume()
    await nextHeld.reached
    oldHeld.open()
    await slow.runner.stop()
    expect(await runOf(run.id)).toMatchObject({ state: 'running', done: 0, counts: {} })
    expect((await itemsOf(run.id)).every(({ outcome }) => outcome === null)).toBe(true)
    nextHeld.open()
    expect(await ended(run.id)).toMatchObject({ state: 'succeeded', done: 25, counts: { settled: 25 } })
    expect(old.asked).toHaveLength(20)
  })

  it('is replaced by exactly one of several other nodes', async () => {
    const old = scripted()
    old.hold('idem_0')
    const run = await begin(newDesk({ bulk: old.action }), { ids: idsOf(25) })
    const next = scripted()
    const others = ['node-2', 'node-3', 'node-4'].map((nodeId) => newDesk({ bulk: next.action, boundary: { nodeId } }))
    await fallSilent(run.id)
    for (const { runner } of others) runner.resume()
    await ended(run.id)
    expect(next.asked).toHaveLength(25)
    desks = others
  })

  it('hands the run over at once when its node stops', async () => {
    const old = scripted()
    const held = old.hold('idem_5')
    const stopping = newDesk({ bulk: old.action })
    const run = await begin(stopping, { ids: idsOf(45) })
    await held.reached
    const stopped = stopping.runner.stop()
    held.open()
    await stopped
    expect(await bench.rows('SELECT state, done, worked_by FROM runs')).toEqual([
      { state: 'running', done: 20, worked_by: null },
    ])
    const next = scripted()
    newDesk({ bulk: next.action, boundary: { nodeId: 'node-2' } }).runner.resume()
    expect(await ended(run.id)).toMatchObject({ state: 'succeeded', done: 45 })
    expect(next.asked).toEqual(idsOf(45).slice(20))
  })

  it('leaves the run unchanged when the store is lost, so that another worker can finish it', async () => {
    let lost = true
    const desk = newDesk({
      bulk: async () => {
        if (lost) throw new StoreUnavailable('gone')
        return DONE
      },
    })
    const run = await begin(desk, { ids: idsOf(3) })
    await desk.runner.stop()
    expect(await runOf(run.id)).toMatchObject({ state: 'running', done: 0 })
    lost = false
    await fallSilent(run.id)
    newDesk({ bulk: async () => DONE }).runner.resume()
    expect(await ended(run.id)).toMatchObject({ state: 'succeeded', done: 3 })
  })

  it('writes its heartbeat while a batch waits for the provider', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { action, hold } = scripted()
      const held = hold('idem_0')
      const run = await begin(newDesk({ bulk: action }), { ids: idsOf(1) })
      await held.reached
      await fallSilent(run.id)
      vi.advanceTimersByTime(15_000)
      await vi.waitFor(async () =>
        expect(
          await bench.rows(`SELECT 1 FROM runs WHERE heartbeat_at > clock_timestamp() - interval '30 s'`),
        ).toHaveLength(1),
      )
      held.open()
    } finally {
      vi.useRealTimers()
    }
  })

  it('can miss its heartbeat without the run being marked as failed', async () => {
    const { action, hold } = scripted()
    const held = hold('idem_0')
    const run = await begin(newDesk({ bulk: action }), { ids: idsOf(1) })
    await held.reached
    await fallSilent(run.id)
    await failDeadRuns(bench.store)
    expect((await runOf(run.id)).state).toBe('running')
    held.open()
  })
})
