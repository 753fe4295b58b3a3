// The one way to PostgreSQL: fails fast while it is gone, probes for its return, and runs a deadlock's victim again.
import net from 'node:net'
import sql, { raw } from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import { openStore, type Store } from '../../lib/db/store'
import { withClient } from '../../scripts/postgres-client'
import { advance } from '../support/clock'
import { cloneDatabase } from '../support/database'
import { startThrowawayPostgres } from '../support/postgres'

let database: Awaited<ReturnType<typeof cloneDatabase>>
beforeAll(async () => {
  database = await cloneDatabase()
})
afterAll(() => database.drop())

const ONE = sql`SELECT 1 AS one`

/** Stands between the store and the server, and counts who comes. */
async function openGate() {
  const target = new URL(database.url)
  const sockets = new Set<net.Socket>()
  const gate = {
    mode: 'open' as 'open' | 'shut' | 'silent',
    reached: 0,
    url: '',
    breakAll() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      gate.breakAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const server = net.createServer((socket) => {
    gate.reached++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    if (gate.mode === 'shut') return socket.destroy()
    if (gate.mode === 'silent') return
    const onward = net.connect(Number(target.port), target.hostname)
    onward.on('error', () => socket.destroy())
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
    socket.pipe(onward).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(database.url)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as net.AddressInfo).port)
  gate.url = url.href
  return gate
}

describe('the store’s circuit breaker', () => {
  let gate: Awaited<ReturnType<typeof openGate>>
  let store: Store
  beforeEach(async () => {
    gate = await openGate()
    store = openStore(gate.url, { max: 20, applicationName: 'gated' })
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await store.close()
    await gate.close()
  })

  const ask = () => store.query(ONE)
  const unavailable = () => expect(ask()).rejects.toBeInstanceOf(StoreUnavailable)
  const fail = async (times: number) => {
    for (let i = 0; i < times; i++) await unavailable()
  }
  const pass = (ms: number) => advance('monotonic', ms)

  it('opens after five failures in a row, and then no query reaches the server', async () => {
    gate.mode = 'shut'
    await fail(5)
    expect(gate.reached).toBe(5)
    await fail(10)
    expect(gate.reached).toBe(5)
  })

  it('stays closed after four failures, and restarts its count after a success', async () => {
    gate.mode = 'shut'
    await fail(4)
    gate.mode = 'open'
    await ask()
    gate.breakAll()
    gate.mode = 'shut'
    await vi.waitFor(() => expect(store.pool.totalCount).toBe(0))
    await fail(4)
    gate.mode = 'open'
    await ask()
  })

  it('lets only one of many concurrent queries through as a probe after two seconds', async () => {
    gate.mode = 'shut'
    await fail(5)
    pass(1900)
    await fail(1)
    expect(gate.reached).toBe(5)
    pass(200)
    const asked = await Promise.allSettled(Array.from({ length: 10 }, ask))
    expect(asked.map(({ status }) => status)).toEqual(Array(10).fill('rejected'))
    expect(gate.reached).toBe(6)
    await fail(5)
    expect(gate.reached).toBe(6)
  })

  it('closes when the probe succeeds', async () => {
    gate.mode = 'shut'
    await fail(5)
    gate.mode = 'open'
    await fail(1)
    pass(2100)
    const asked = await Promise.all(Array.from({ length: 10 }, ask))
    expect(asked).toEqual(Array(10).fill([{ one: 1 }]))
    vi.restoreAllMocks()
    await ask()
  })

  it('is not opened by SQL errors', async () => {
    for (let i = 0; i < 10; i++) await expect(store.query(sql`SELEKT 1`)).rejects.toMatchObject({ code: '42601' })
    await ask()
    await expect(store.query(sql`SELECT 1 / 0`)).rejects.not.toBeInstanceOf(StoreUnavailable)
  })

  it('is closed by a probe that fails with an SQL error, because the server answered', async () => {
    gate.mode = 'shut'
    await fail(5)
    gate.mode = 'open'
    pass(2100)
    await expect(store.query(sql`SELEKT 1`)).rejects.toMatchObject({ code: '42601' })
    await ask()
  })

  it('is not opened by queries that fail because all connections are busy', async () => {
    const small = openStore(gate.url, { max: 1, applicationName: 'small' })
    const busy = await small.pool.connect()
    const queued = await Promise.allSettled(Array.from({ length: 6 }, () => small.query(ONE)))
    for (const one of queued) expect(one).toMatchObject({ reason: expect.any(StoreUnavailable) })
    busy.release()
    expect(await small.query(ONE)).toEqual([{ one: 1 }])
    await small.close()
  })

  it('does not hold back queryPastCircuit while it is open', async () => {
    gate.mode = 'shut'
    await fail(5)
    await expect(store.pastCircuit.query(ONE)).rejects.toBeInstanceOf(StoreUnavailable)
    expect(gate.reached).toBe(6)
    gate.mode = 'open'
    expect(await store.pastCircuit.query(ONE)).toEqual([{ one: 1 }])
    await unavailable()
  })

  it('counts a query as failed when the server accepts the connection and never answers', async () => {
    gate.mode = 'silent'
    const asked = await Promise.allSettled(Array.from({ length: 5 }, ask))
    for (const one of asked) expect(one).toMatchObject({ reason: expect.any(StoreUnavailable) })
    expect(gate.reached).toBe(5)
    await unavailable()
    expect(gate.reached).toBe(5)
  })

  it('treats a connection that breaks during a statement as an unavailable store', async () => {
    await ask()
    const waiting = store.query(sql`SELECT pg_sleep(60)`)
    await vi.waitFor(() => expect(store.pool.idleCount).toBe(0))
    gate.breakAll()
    await expect(waiting).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

describe('a statement', () => {
  let store: Store
  beforeAll(() => {
    store = openStore(database.url, { max: 1, applicationName: 'one' })
  })
  afterAll(() => store.close())

  it('is prepared once per connection, whatever its parameters', async () => {
    const twice = (n: number) => store.query<{ twice: number }>(sql`SELECT ${n}::int * 2 AS twice`)
    expect([await twice(1), await twice(2), await twice(3)]).toEqual([[{ twice: 2 }], [{ twice: 4 }], [{ twice: 6 }]])
    const prepared = await store.query(sql`SELECT name FROM pg_prepared_statements WHERE statement LIKE '%AS twice'`)
    expect(prepared).toHaveLength(1)
  })

  it('is run without being prepared when too many different statements are prepared already', async () => {
    for (let shape = 0; shape < 1100; shape++)
      expect(await store.query(raw(`SELECT ${shape} AS shape`))).toEqual([{ shape }])
    const [row] = await store.query<{ count: number }>(sql`SELECT count(*)::int AS count FROM pg_prepared_statements`)
    expect(row!.count).toBeLessThanOrEqual(900)
  })

  it('runs in UTC, whatever time zone the database is set to', async () => {
    const name = new URL(database.url).pathname.slice(1)
    await store.query(raw(`ALTER DATABASE ${name} SET timezone TO 'Asia/Tokyo'`))
    const fresh = openStore(database.url, { max: 1, applicationName: 'fresh' })
    expect(await fresh.query(sql`SELECT current_setting('TimeZone') AS zone`)).toEqual([{ zone: 'UTC' }])
    await fresh.close()
  })

  it('is run again after it was the victim of a deadlock', async () => {
    const rivals = openStore(database.url, { max: 1, applicationName: 'rival' })
    const rival = await rivals.pool.connect()
    // only the store's side looks for deadlocks soon: it is the victim
    await rival.query(`BEGIN; SET LOCAL deadlock_timeout = '60s'; SELECT pg_advisory_xact_lock(2)`)
    const both = store.query<{ done: boolean }>(
      sql`SELECT true AS done FROM (SELECT pg_advisory_xact_lock(1), pg_advisory_xact_lock(2)) locks`,
    )
    const blocked = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'one' AND wait_event = 'advisory'`
    await vi.waitFor(async () => expect((await rival.query(blocked)).rows).toHaveLength(1), { interval: 5 })
    await rival.query('SELECT pg_advisory_xact_lock(1)')
    await rival.query('COMMIT')
    expect(await both).toEqual([{ done: true }])
    rival.release()
    await rivals.close()
  })

  it('fails with StoreUnavailable on a closed store', async () => {
    const closed = openStore(database.url, { max: 1, applicationName: 'closed' })
    await closed.close()
    await expect(closed.query(ONE)).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

describe('a server that is in recovery', () => {
  // A proxy leads there for a moment, between the choice of a new primary and the end of its recovery.
  it('is not asked, not even for what can be read, until it is the primary', async () => {
    const server = await startThrowawayPostgres()
    const url = server.urlOf('postgres')
    const store = openStore(url, { max: 2, applicationName: 'failover' })
    try {
      await withClient(url, (client) => client.query(standbySignal))
      await server.stop()
      await server.start()
      await expect(store.query(ONE)).rejects.toBeInstanceOf(StoreUnavailable)
      await withClient(url, (client) => client.query('SELECT pg_promote()'))
      expect(await store.query(ONE)).toEqual([{ one: 1 }])
    } finally {
      await store.close()
      await server.remove()
    }
  })
  const standbySignal = `DO $$BEGIN EXECUTE format('COPY (SELECT) TO %L', current_setting('data_directory') || '/standby.signal'); END$$`
})
