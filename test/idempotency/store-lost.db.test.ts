// The store is lost after the provider was called: the owner keeps trying until its lease ends, its client waits a
// moment for the true answer, and a commit whose acknowledgement was lost is not mistaken for a rival's.
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import type { Statement } from '../../lib/db/store'
import { persisted } from '../../lib/idempotency/persist'
import {
  answerOf,
  type Bench,
  barrier,
  charged,
  connectionLost,
  declined,
  isSettle,
  newKey,
  openBench,
  orderOf,
  refused,
  type ScriptedGateway,
  scriptedGateway,
  tampered,
  tamperedAtEnd,
  timedOut,
  toldBy,
} from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

let gateway: ScriptedGateway
let key: string
let body: ReturnType<typeof orderOf>
beforeEach(() => {
  gateway = scriptedGateway(500)
  key = newKey()
  body = orderOf()
})

const place = (asking = {}) => bench.place(gateway, body, { key, ...asking })
const through = (store: typeof bench.store, changes = {}) => ({ boundary: { ...bench.boundary, store, ...changes } })

const isReserve = (statement: Statement) => statement.text.includes('INSERT INTO idempotency_records')
const isRelease = (statement: Statement) => statement.text.includes("state = 'failed_retryable', version")
const isGiveUp = (statement: Statement) => statement.text.includes("state = 'unknown', version")

/** A store that can't be reached for certain statements for as long as `lost` says so. */
const losing = (which: (statement: Statement) => boolean, lost: () => boolean) =>
  tampered(bench.store, (send, statement) => {
    if (which(statement) && lost()) throw new StoreUnavailable(connectionLost())
    return send()
  })

/** A store that commits and then loses the connection, once. */
function losingTheAcknowledgement(which: (statement: Statement) => boolean) {
  let lost = false
  return tamperedAtEnd(bench.store, which, async (send) => {
    const result = await send()
    if (lost) return result
    lost = true
    throw new StoreUnavailable(connectionLost())
  })
}

const books = () =>
  bench.rows(
    `SELECT o.status, l.status AS ledger FROM orders o LEFT JOIN ledger_entries l ON l.order_id = o.id
     WHERE o.customer_id = $1`,
    [body.customerId],
  )
const discrepancies = async () =>
  bench.rows('SELECT 1 FROM discrepancies WHERE record_id = $1', [(await bench.recordOf(key)).id])

describe('a database lost between the provider’s answer and the settlement', () => {
  it('that returns within moments only delays the client’s answer', async () => {
    let losses = 0
    const outcome = await place(through(losing(isSettle, () => ++losses <= 3)))
    expect(toldBy(outcome)).toBe('201')
    expect(losses).toBe(4)
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded' }])
    expect(gateway.calls).toHaveLength(1)
  })

  it('that stays away gives the client an unknown outcome, and the record completes once it returns', async () => {
    let lost = true
    const asked = performance.now()
    const outcome = await place(through(losing(isSettle, () => lost)))
    expect(toldBy(outcome)).toBe('outcome_unknown')
    expect(performance.now() - asked).toBeGreaterThan(2900)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'in_progress' })
    expect(toldBy(await place())).toBe('in_progress')
    lost = false
    await persisted()
    expect(await bench.recordOf(key)).toMatchObject({ state: 'completed', response_status: 201, attempt: 1 })
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded' }])
    expect(toldBy(await place())).toBe('201 replayed')
    expect(gateway.calls).toHaveLength(1)
  })

  it('that stays away until the lease ends leaves the record to recovery, without a second provider call', async () => {
    const outcome = await place(
      through(
        losing(isSettle, () => true),
        { leaseMs: 2500 },
      ),
    )
    expect(toldBy(outcome)).toBe('outcome_unknown')
    await persisted()
    const { locked_until } = await bench.recordOf(key)
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(locked_until!.getTime()), { timeout: 30_000 })
    expect(toldBy(await place())).toBe('unknown')
    expect(gateway.calls).toHaveLength(1)
  })

  it('whose circuit breaker is open is written past the breaker', async () => {
    const open = tampered(bench.store, (send, statement) =>
      isSettle(statement) ? Promise.reject(new StoreUnavailable(null)) : send(),
    )
    const store = { ...open, pastCircuit: bench.store.pastCircuit }
    expect(toldBy(await place(through(store)))).toBe('201')
  })

  it('by a backend that PostgreSQL terminates during the settlement is queried again', async () => {
    const call = barrier()
    gateway.nextCall(async () => {
      await call.pass()
      return charged()
    })
    const placing = place()
    await call.reached
    const holder = await bench.transaction()
    await holder.query('SELECT 1 FROM idempotency_records WHERE key = $1 FOR UPDATE', [key])
    call.open()
    await bench.untilBlocked(1)
    await holder.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'bench' AND cardinality(pg_blocking_pids(pid)) > 0`,
    )
    await bench.untilBlocked(1)
    await holder.query('COMMIT')
    holder.release()
    expect(toldBy(await placing)).toBe('201')
    expect(await books()).toEqual([{ status: 'paid', ledger: 'succeeded' }])
  })

  it('does not hide an unrecorded refusal: the client gets not_executed', async () => {
    gateway.nextCall(refused)
    let lost = true
    expect(toldBy(await place(through(losing(isRelease, () => lost))))).toBe('not_executed')
    lost = false
    await persisted()
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable' })
  })
})

describe('a commit whose acknowledgement was lost', () => {
  it.each([
    ['a charge', charged, '201 replayed'],
    ['a decline', declined, '402 replayed'],
  ] as const)(
    'of %s is found on retry: the client gets the stored answer, and no discrepancy opens',
    async (_, made, told) => {
      const made1 = made()
      gateway.nextCall(() => made1)
      const outcome = await place(through(losingTheAcknowledgement(isSettle)))
      expect(toldBy(outcome)).toBe(told)
      expect(answerOf(outcome).body).toBe((await bench.recordOf(key)).response_body)
      expect(await discrepancies()).toEqual([])
      expect(await books()).toHaveLength(1)
      expect(gateway.calls).toHaveLength(1)
    },
  )

  it('of a refused refund is found on retry, and no discrepancy opens', async () => {
    const boundary = { ...bench.boundary, store: losingTheAcknowledgement(isSettle) }
    const outcome = await bench.refund(gateway, 'ord_nobody_has', {}, { key, boundary })
    expect(toldBy(outcome)).toBe('404 replayed')
    expect(await discrepancies()).toEqual([])
  })

  it('of a release still releases the key: the client gets not_executed', async () => {
    gateway.nextCall(refused)
    expect(toldBy(await place(through(losingTheAcknowledgement(isRelease))))).toBe('not_executed')
    expect(gateway.calls).toHaveLength(1)
    expect(await bench.recordOf(key)).toMatchObject({ state: 'failed_retryable', attempt: 1 })
  })

  it('of a settlement, with the database unreachable afterwards, gives the client outcome_unknown', async () => {
    let settled = false
    const gone = tampered(bench.store, (send) => (settled ? Promise.reject(connectionLost()) : send()))
    const store = tamperedAtEnd(gone, isSettle, async (send) => {
      await send()
      settled = true
      throw connectionLost()
    })
    const comesBack = { ...store, pastCircuit: bench.store.pastCircuit }
    expect(toldBy(await place(through(comesBack)))).toBe('outcome_unknown')
    expect(gateway.calls).toHaveLength(1)
    expect(toldBy(await place())).toBe('201 replayed')
  })

  it('of an unknown outcome is found on retry', async () => {
    gateway.nextCall(timedOut)
    expect(toldBy(await place(through(losingTheAcknowledgement(isGiveUp))))).toBe('unknown')
    expect(gateway.calls).toHaveLength(1)
  })

  it('of a reservation ends the request without a provider call, and the expired lease leaves it unknown', async () => {
    await expect(place(through(losingTheAcknowledgement(isReserve)))).rejects.toBeInstanceOf(StoreUnavailable)
    expect(gateway.calls).toEqual([])
    expect(toldBy(await place())).toBe('in_progress')
    await bench.endLease(key)
    expect(toldBy(await place())).toBe('unknown')
    expect(gateway.calls).toEqual([])
  })
})

describe('a database lost before the provider call', () => {
  it('ends the request without a record and without a call', async () => {
    await expect(place(through(losing(isReserve, () => true)))).rejects.toBeInstanceOf(StoreUnavailable)
    expect(gateway.calls).toEqual([])
    expect(await bench.rows('SELECT 1 FROM idempotency_records WHERE key = $1', [key])).toEqual([])
  })
})

describe('an SQL error in the settlement', () => {
  it('is thrown and not retried', async () => {
    const bug = Object.assign(new Error('syntax error'), { code: '42601' })
    let tries = 0
    const store = tampered(bench.store, (send, statement) => {
      if (!isSettle(statement)) return send()
      tries++
      throw bug
    })
    await expect(place(through(store))).rejects.toBe(bug)
    expect(tries).toBe(1)
  })
})
