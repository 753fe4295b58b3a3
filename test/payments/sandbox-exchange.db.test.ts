import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { ulid } from 'ulid'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { EffectRequest, LookUpRequest } from '../../lib/payments/gateway'
import { createSandbox, listCharges } from '../../lib/payments/sandbox'
import { cloneDatabase } from '../support/database'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let outside: pg.Client
const pools: pg.Pool[] = []

beforeAll(async () => {
  database = await cloneDatabase()
  outside = new pg.Client({ connectionString: database.url })
  await outside.connect()
})

afterAll(async () => {
  await Promise.all(pools.filter((pool) => !pool.ended).map((pool) => pool.end()))
  await outside.end()
  await database.drop()
})

// No idle timers of the pool's own, so that the sandbox's can be counted.
function open(timeLimitMs: number, connectionString = database.url) {
  const pool = new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 0 })
  pools.push(pool)
  return { pool, sandbox: createSandbox({ pool, idempotent: true, timeLimitMs }) }
}

function charge(paymentMethod = 'pm_ok'): EffectRequest & LookUpRequest {
  const id = ulid()
  const sentAs = { keyDigest: `digest_${id}`, fingerprint: `v1:${id}` }
  const ids = { providerKey: `key_${id}`, orderId: `ord_${id}`, customerId: `cus_${id}` }
  return {
    kind: 'charge',
    ...ids,
    ...sentAs,
    reservedAt: new Date(0),
    until: new Date(),
    amountCents: 2500,
    currency: 'EUR',
    paymentMethod,
  }
}

/** Runs while no statement can write, and hands over the process id of the one backend that waits to. */
async function whileBlocked(work: (backend: () => Promise<number>) => Promise<void>): Promise<void> {
  await outside.query('BEGIN; LOCK TABLE sandbox.charges, sandbox.attempts IN ACCESS EXCLUSIVE MODE')
  try {
    await work(() =>
      vi.waitFor(async () => {
        // inside a transaction the view is otherwise read only once
        await outside.query('SELECT pg_stat_clear_snapshot()')
        const { rows } = await outside.query(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        expect(rows).toHaveLength(1)
        return rows[0].pid
      }),
    )
  } finally {
    await outside.query('COMMIT')
  }
}

/** A server whose connections a test can let hang or break. */
async function serve(onSocket: (socket: Socket) => void) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    onSocket(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(database.url)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return { url: url.href, sockets, close }
}

function holdUp(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until) {
    // as a stopped process would: no timer fires, nothing arrives
  }
}

describe('the sandbox without a connection to its database', () => {
  it('reports a charge as not executed, and a lookup as unreachable', async () => {
    const closed = await serve(() => {})
    await closed.close()
    const { sandbox } = open(5_000, closed.url)
    const refused = { kind: 'not_executed', code: 'connection_refused' }
    expect(await sandbox.execute(charge())).toEqual(refused)
    expect(await sandbox.execute(charge('pm_error_once'))).toEqual(refused)
    expect(await sandbox.execute(charge('pm_timeout_charged'))).toEqual(refused)
    expect(await sandbox.lookUp(charge())).toEqual({ kind: 'unreachable', code: 'connection_refused' })
  })

  it('reports a connection timeout at the time limit when the database never answers', async () => {
    const mute = await serve(() => {})
    const { sandbox } = open(50, mute.url)
    expect(await sandbox.execute(charge())).toEqual({ kind: 'not_executed', code: 'connection_timeout' })
    expect(await sandbox.lookUp(charge())).toEqual({ kind: 'unreachable', code: 'connection_timeout' })
    await mute.close()
  })

  it('charges nothing when the connection is made after the time limit', async () => {
    const { pool, sandbox } = open(50)
    const request = charge()
    const taken = await pool.connect()
    expect(await sandbox.execute(request)).toEqual({ kind: 'not_executed', code: 'connection_timeout' })
    taken.release()
    // max is 1 and the pool is fair: the late connection was handed over and given back before this query ran
    expect((await listCharges(pool, request)).items).toEqual([])
    expect(pool.idleCount).toBe(1)
  })

  it('charges nothing when its process is blocked past the time limit before it sends', async () => {
    const { pool, sandbox } = open(40)
    const request = charge()
    const client = await pool.connect()
    vi.spyOn(pool, 'connect').mockImplementationOnce(async () => {
      holdUp(80)
      return client
    })
    const outcome = sandbox.execute(request)
    expect(await outcome).toEqual({ kind: 'not_executed', code: 'connection_timeout' })
    expect((await listCharges(pool, request)).items).toEqual([])
  })
})

describe('the sandbox that loses its database after the statement was sent', () => {
  it.each(['pm_ok', 'pm_refused_once'])('reports the outcome of %s as unclear', async (paymentMethod) => {
    const { sandbox } = open(10_000)
    const request = charge(paymentMethod)
    await whileBlocked(async (backend) => {
      const outcome = sandbox.execute(request)
      await outside.query('SELECT pg_terminate_backend($1)', [await backend()])
      expect(await outcome).toEqual({ kind: 'unclear', code: 'server_error' })
    })
    expect((await sandbox.lookUp(request)).kind).toBe('not_found')
  })

  it('reports the outcome as unclear when the connection is reset', async () => {
    const { hostname, port } = new URL(database.url)
    const proxy = await serve((socket) => {
      const upstream = connect(Number(port), hostname)
      upstream.on('error', () => {})
      socket.pipe(upstream).pipe(socket)
    })
    const { sandbox } = open(10_000, proxy.url)
    await whileBlocked(async (backend) => {
      const outcome = sandbox.execute(charge())
      await backend()
      for (const socket of proxy.sockets) socket.resetAndDestroy()
      expect(await outcome).toEqual({ kind: 'unclear', code: 'server_error' })
    })
    await proxy.close()
  })

  it('reports a lookup as unreachable', async () => {
    const { sandbox } = open(10_000)
    await whileBlocked(async (backend) => {
      const outcome = sandbox.lookUp(charge())
      await outside.query('SELECT pg_terminate_backend($1)', [await backend()])
      expect(await outcome).toEqual({ kind: 'unreachable', code: 'server_error' })
    })
  })

  it('ends the wait at the time limit when the database hangs, and closes the connection', async () => {
    const { pool, sandbox } = open(300)
    await whileBlocked(async () => {
      expect(await sandbox.execute(charge())).toEqual({ kind: 'unclear', code: 'timeout' })
      expect(pool.totalCount).toBe(0)
      expect(await sandbox.lookUp(charge())).toEqual({ kind: 'unreachable', code: 'timeout' })
    })
  })

  it('still reports a slow charge as succeeded: it is booked, and its wait holds no connection', async () => {
    const { pool, sandbox } = open(10_000)
    const request = charge('pm_slow_400')
    const outcome = sandbox.execute(request)
    await vi.waitFor(async () => {
      const { rowCount } = await outside.query('SELECT FROM sandbox.charges WHERE provider_key = $1', [
        request.providerKey,
      ])
      expect(rowCount).toBe(1)
    })
    await pool.end()
    expect(await outcome).toMatchObject({ kind: 'succeeded', providerRef: expect.any(String) })
  })
})

it('the sandbox charges again after it has lost an idle database connection', async () => {
  const { pool, sandbox } = open(10_000)
  await sandbox.execute(charge())
  const removed = new Promise((resolve) => pool.once('remove', resolve))
  await outside.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await removed
  expect(await sandbox.execute(charge())).toMatchObject({ kind: 'succeeded', providerRef: expect.any(String) })
})

it('the sandbox leaves no timer that would keep the process alive', async () => {
  const { sandbox } = open(60_000)
  await sandbox.execute(charge())
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const before = timers()
  for (let round = 0; round < 20; round++) {
    const request = charge(round % 2 ? 'pm_ok' : 'pm_refused_once')
    await sandbox.execute(request)
    await sandbox.lookUp(request)
  }
  expect(timers()).toBeLessThan(before + 10)
})
