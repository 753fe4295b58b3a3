// A duplicate that waits learns of the end by notification, from any node, and asks nothing meanwhile.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openNotifications } from '../../lib/db/notifications'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import type { Statement } from '../../lib/db/store'
import { openStore } from '../../lib/db/store'
import { CHANNEL } from '../../lib/idempotency/store/notify'
import { settle } from '../../lib/idempotency/store/settle'
import { openWaiting } from '../../lib/idempotency/waiting'
import type { Called } from '../support/boundary'
import {
  answerOf,
  barrier,
  before,
  charged,
  declined,
  newKey,
  refused,
  storeOn,
  tampered,
  timedOut,
  toldBy,
} from '../support/boundary'
import { bench, gateway, key, place } from './one-key'

const LONG = 30_000
/** Nothing here takes this long unless somebody waits for the wrong thing. */
const SOON = 8000

/** An owner that is held in its call until the test lets the provider answer. */
async function ownerInCall(outcome: () => Called, asking = {}) {
  const call = barrier()
  gateway.nextCall(async () => {
    await call.pass()
    return outcome()
  })
  const owner = place(asking)
  await call.reached
  return { owner, providerAnswers: call.open }
}

const asksToBeTold = (statement: Statement) => statement.text.includes('SET awaited')

const untilAwaited = () =>
  vi.waitFor(async () => expect(await bench.recordOf(key)).toMatchObject({ awaited: true }), { interval: 5 })

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const began = performance.now()
  const result = await work
  expect(performance.now() - began).toBeLessThan(ms)
  return result
}

const listeners = () =>
  bench.rows<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'onceover-listen'`,
  )

describe('a duplicate that waits', () => {
  it('is notified when the owner settles and gets the answer as a replay, without polling', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const sent = await bench.sentBy(async () => {
      const waiting = place({ waitMs: LONG })
      await untilAwaited()
      providerAnswers()
      const outcome = await within(SOON, waiting)
      expect(toldBy(outcome)).toBe('201 replayed')
      expect(answerOf(outcome)).toEqual(answerOf(await owner))
    })
    const verbs = sent.flatMap((text) => {
      if (/^(BEGIN|COMMIT)$/.test(text) || /\b(orders|ledger_entries)\b/.test(text)) return []
      if (text.includes('pg_notify')) return 'notify'
      if (text.includes('INSERT INTO idempotency_records')) return 'reserve'
      if (text.includes('SET awaited')) return 'await'
      return text.includes("state = 'completed', version") ? 'settle' : 'find'
    })
    // A request that has seen the record makes no other, and so only reads.
    expect(verbs).toEqual(['reserve', 'find', 'await', 'settle', 'notify', 'find'])
  })

  it('is notified by an owner on another node', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const store = openStore(bench.url, { max: 2, applicationName: 'bench-2' })
    const line = openNotifications(bench.url)
    const waiting = openWaiting(line)
    const duplicate = place({ waitMs: LONG, boundary: bench.otherNode({ store, waiting }) })
    await untilAwaited()
    providerAnswers()
    expect(toldBy(await within(SOON, duplicate))).toBe('201 replayed')
    expect(toldBy(await owner)).toBe('201')
    await line.close()
    await store.close()
  })

  it('gets a decline as a replay, too', async () => {
    const { owner, providerAnswers } = await ownerInCall(declined)
    const waiting = place({ waitMs: LONG })
    await untilAwaited()
    providerAnswers()
    expect(toldBy(await within(SOON, waiting))).toBe('402 replayed')
    await owner
  })

  it('goes on waiting when the outcome becomes unknown, and gets the answer once that is found out', async () => {
    const { owner, providerAnswers } = await ownerInCall(timedOut)
    const waiting = place({ waitMs: LONG })
    await untilAwaited()
    providerAnswers()
    expect(toldBy(await owner)).toBe('outcome_unknown')
    const { id: recordId, attempt } = await bench.recordOf(key)
    const answer = { status: 201, headers: {}, body: '{}' }
    const settlement = { answer, effectRef: 'ch_late' }
    const event = { event: 'settled', by: 'reconciler' } as const
    await settle({ store: bench.store }, {}, { recordId, attempt, from: 'unknown', settlement, event })
    expect(toldBy(await within(SOON, waiting))).toBe('201 replayed')
  })

  it('gets unknown when its wait time is over before the outcome is known', async () => {
    const { owner, providerAnswers } = await ownerInCall(timedOut)
    const began = performance.now()
    const waiting = place({ waitMs: 400 })
    await untilAwaited()
    providerAnswers()
    await owner
    expect(toldBy(await waiting)).toBe('unknown')
    expect(performance.now() - began).toBeGreaterThanOrEqual(395)
  })

  it('does not wait when it finds the outcome unknown', async () => {
    gateway.nextCall(timedOut)
    await place()
    expect(toldBy(await within(SOON, place({ waitMs: LONG })))).toBe('unknown')
  })

  it('re-claims a key that is proven not executed: one of many does, the others get its answer', async () => {
    const { owner, providerAnswers } = await ownerInCall(refused)
    const waiting = Array.from({ length: 6 }, () => place({ waitMs: LONG }))
    await untilAwaited()
    providerAnswers()
    const told = (await within(SOON, Promise.all(waiting))).map(toldBy)
    expect(told.sort()).toEqual(['201', ...Array(5).fill('201 replayed')])
    expect(toldBy(await owner)).toBe('not_executed')
    expect(gateway.calls).toHaveLength(2)
    expect(await bench.recordOf(key)).toMatchObject({ attempt: 2 })
  })

  it('gets in_progress when its wait time is over', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const began = performance.now()
    expect(toldBy(await place({ waitMs: 150 }))).toBe('in_progress')
    expect(performance.now() - began).toBeGreaterThanOrEqual(145)
    providerAnswers()
    await owner
  })

  it('ends the lease of a dead owner when it is over, then gets an unknown outcome', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged, { boundary: bench.otherNode({ leaseMs: 3000 }) })
    expect(toldBy(await within(SOON, place({ waitMs: 3500 })))).toBe('unknown')
    expect(await bench.recordOf(key)).toMatchObject({ state: 'unknown', last_error_code: 'lease_over' })
    expect(gateway.calls).toHaveLength(1)
    providerAnswers()
    await owner
  })

  it('stops waiting when its client disconnects', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const client = new AbortController()
    const waiting = place({ waitMs: LONG, signal: () => client.signal })
    await untilAwaited()
    client.abort()
    expect(toldBy(await within(SOON, waiting))).toBe('in_progress')
    providerAnswers()
    await owner
  })

  it('stops waiting when its client disconnects while the wait is being set up', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const client = new AbortController()
    const store = tampered(bench.store, async (send, statement) => {
      const rows = await send()
      if (asksToBeTold(statement)) client.abort()
      return rows
    })
    const waiting = place({ waitMs: LONG, signal: () => client.signal, boundary: { ...bench.boundary, store } })
    expect(toldBy(await within(SOON, waiting))).toBe('in_progress')
    providerAnswers()
    await owner
  })

  it('does not miss a settlement that commits while it registers for the notification', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const { id } = await bench.recordOf(key)
    const transaction = await bench.transaction()
    const settlement = { answer: { status: 201, headers: {}, body: '"rival"' } }
    const store = before(bench.store, asksToBeTold, () =>
      settle(
        { store: storeOn(transaction) },
        {},
        {
          recordId: id,
          attempt: 1,
          from: 'in_progress',
          settlement,
          event: { event: 'settled', by: 'test' },
        },
      ),
    )
    const waiting = place({ waitMs: LONG, boundary: { ...bench.boundary, store } })
    await bench.untilBlocked(1)
    await transaction.query('COMMIT')
    transaction.release()
    const outcome = await within(SOON, waiting)
    expect(toldBy(outcome)).toBe('201 replayed')
    expect(answerOf(outcome).body).toBe('"rival"')
    providerAnswers()
    await owner
  })

  it('gets the answer when another duplicate registers for it at the same moment', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const holder = await bench.transaction()
    await holder.query('SELECT 1 FROM idempotency_records WHERE key = $1 FOR UPDATE', [key])
    const waiting = [place({ waitMs: LONG }), place({ waitMs: LONG })]
    await bench.untilBlocked(2)
    await holder.query('COMMIT')
    holder.release()
    await untilAwaited()
    providerAnswers()
    const told = (await within(SOON, Promise.all(waiting))).map(toldBy)
    expect(told).toEqual(['201 replayed', '201 replayed'])
    await owner
  })
})

describe('a notification', () => {
  const heard: string[] = []
  let ear: pg.Client
  beforeAll(async () => {
    ear = new pg.Client({ connectionString: bench.url })
    ear.on('notification', ({ payload }) => heard.push(payload ?? ''))
    await ear.connect()
    await ear.query(`LISTEN ${CHANNEL}`)
  })
  afterAll(() => ear.end())

  /** All that was sent before this arrives before it. */
  async function heardUntilNow(): Promise<string[]> {
    const mark = newKey()
    await bench.db.query('SELECT pg_notify($1, $2)', [CHANNEL, mark])
    await vi.waitFor(() => expect(heard).toContain(mark))
    return heard.splice(0).filter((payload) => payload !== mark)
  }

  it.each([
    ['settles', charged],
    ['releases', refused],
    ['gives up', timedOut],
  ] as const)('is not sent without a waiter: the owner %s', async (_, outcome) => {
    gateway.nextCall(() => outcome())
    await place()
    expect(await heardUntilNow()).toEqual([])
  })

  it.each([
    ['settles', charged],
    ['gives up', timedOut],
  ] as const)('is sent once for two waiters: the owner %s', async (_, outcome) => {
    const { owner, providerAnswers } = await ownerInCall(outcome)
    const waiting = [place({ waitMs: 1000 }), place({ waitMs: 1000 })]
    await untilAwaited()
    providerAnswers()
    await Promise.all([owner, ...waiting])
    expect(await heardUntilNow()).toEqual([(await bench.recordOf(key)).id])
  })

  it('is sent to a waiter when the lease runs out', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const waiting = place({ waitMs: 1000 })
    await untilAwaited()
    await bench.endLease(key)
    expect(toldBy(await place())).toBe('unknown')
    expect(toldBy(await within(SOON, waiting))).toBe('unknown')
    expect(await heardUntilNow()).toEqual([(await bench.recordOf(key)).id])
    providerAnswers()
    await owner
  })
})

describe('the LISTEN connection', () => {
  it('is shared by all waiters of a node', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const waiting = Array.from({ length: 10 }, () => place({ waitMs: LONG }))
    await untilAwaited()
    expect(await listeners()).toHaveLength(1)
    providerAnswers()
    await Promise.all([owner, ...waiting])
  })

  it('is replaced when it is killed, and the waiters still get the answer', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const waiting = Array.from({ length: 3 }, () => place({ waitMs: LONG }))
    await untilAwaited()
    const [killed] = await listeners()
    await bench.db.query('SELECT pg_terminate_backend($1)', [killed!.pid])
    await vi.waitFor(async () => {
      const [replaced] = await listeners()
      expect(replaced?.pid).toEqual(expect.any(Number))
      expect(replaced!.pid).not.toBe(killed!.pid)
    })
    providerAnswers()
    expect((await within(SOON, Promise.all(waiting))).map(toldBy)).toEqual(Array(3).fill('201 replayed'))
    await owner
  })

  it('can be killed while the owner settles, and the waiter still gets the answer', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const waiting = place({ waitMs: LONG })
    await untilAwaited()
    const [killed] = await listeners()
    await Promise.all([bench.db.query('SELECT pg_terminate_backend($1)', [killed!.pid]), providerAnswers()])
    expect(toldBy(await within(SOON, waiting))).toBe('201 replayed')
    await owner
  })

  it('is replaced by polling when it cannot be opened', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const line = openNotifications('postgresql://postgres@127.0.0.1:1/nowhere')
    const waiting = openWaiting(line)
    const duplicate = place({ waitMs: LONG, boundary: bench.otherNode({ waiting }) })
    await untilAwaited()
    providerAnswers()
    expect(toldBy(await within(SOON, duplicate))).toBe('201 replayed')
    await owner
    await line.close()
  })

  it('does not stay open when it is closed while it is being opened', async () => {
    const before = await listeners()
    const line = openNotifications(bench.url)
    const waiting = openWaiting(line)
    const expectation = waiting.expect('idem_nobody')
    await line.close()
    await expectation.listening
    await vi.waitFor(async () => expect(await listeners()).toEqual(before))
  })

  it('wakes every waiter when it is closed', async () => {
    const line = openNotifications(bench.url)
    const waiting = openWaiting(line)
    const expectation = waiting.expect('idem_nobody')
    await expectation.listening
    const ended = expectation.orAfter(LONG)
    await line.close()
    await within(SOON, ended)
  })

  it('does not keep a duplicate waiting when the store is unavailable', async () => {
    const { owner, providerAnswers } = await ownerInCall(charged)
    const store = tampered(bench.store, (send, statement) => {
      if (asksToBeTold(statement)) throw new StoreUnavailable(null)
      return send()
    })
    await expect(place({ waitMs: LONG, boundary: { ...bench.boundary, store } })).rejects.toBeInstanceOf(
      StoreUnavailable,
    )
    providerAnswers()
    await owner
  })
})
