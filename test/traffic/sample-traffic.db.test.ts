import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { openRunner, type Runner } from '../../lib/maintenance/runner'
import { abortRun, findRun, type Run } from '../../lib/maintenance/runs'
import { type Actor, callOf } from '../../lib/operators/actor'
import { openGuard } from '../../lib/operators/use-case'
import { planned, samplePlan } from '../../lib/traffic/plan'
import { KEY_NAME } from '../../lib/traffic/sample-traffic'
import { trafficUseCases } from '../../lib/traffic/use-cases'
import { type Barrier, type Bench, barrier, openBench } from '../support/boundary'

const OLGA: Actor = { id: 'opr_olga', name: 'Olga', role: 'operator' }
const VERA: Actor = { id: 'opr_vera', name: 'Vera', role: 'viewer' }

let bench: Bench
let api: Server
let runner: Runner
/** What the API answers, and with whose key it was asked. */
let status: number
let held: Barrier | null
let asked: string[]

beforeAll(async () => {
  bench = await openBench()
  await bench.rows(`INSERT INTO tenants (id, name) VALUES ('ten_demo', 'demo')`)
  api = createServer(async (request, response) => {
    asked.push(request.headers.authorization ?? '')
    await held?.pass()
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"id":"ord_1"}')
    request.resume()
  })
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
})
const none = () => Promise.reject(new Error())
beforeEach(async () => {
  status = 201
  held = null
  asked = []
  await bench.rows('TRUNCATE api_keys, runs CASCADE')
  const bulk = { reconcile: none, expire: none, 'run-again': none, resume: none }
  runner = openRunner({ store: bench.store, nodeId: 'node-1', daemons: [], bulk })
})
afterEach(async () => {
  held?.open()
  await runner.stop()
})
afterAll(async () => {
  api.closeAllConnections()
  api.close()
  await bench.close()
})

const send = (actor = OLGA, options: { isSandbox?: boolean; url?: string } = {}) => {
  const { isSandbox = true, url = `http://127.0.0.1:${(api.address() as AddressInfo).port}` } = options
  const traffic = { store: bench.store, runner, isSandbox, url: () => url, rate: 5000 }
  return trafficUseCases(traffic, openGuard(bench.store)).sendTraffic(callOf(actor, 'req_1'), undefined)
}
const begun = async (...args: Parameters<typeof send>) => (await send(...args)) as Run
const ended = (id: string) =>
  vi.waitFor(
    async () => {
      const run = await findRun(bench.store, id)
      expect(run?.finishedAt).not.toBeNull()
      return run!
    },
    { timeout: 60_000, interval: 20 },
  )
const liveKeys = () =>
  bench.rows<{ id: string }>(`SELECT id FROM api_keys WHERE name = $1 AND revoked_at IS NULL`, [KEY_NAME])
const audit = async () =>
  (await bench.rows<{ action: string }>('SELECT action FROM audit_entries ORDER BY seq')).map(({ action }) => action)

describe('sample traffic', () => {
  it('is a run that sends all planned requests with an API key of its own, which is revoked at the end', async () => {
    const before = (await audit()).length
    const { id, state, kind } = await begun()
    expect({ state, kind }).toEqual({ state: 'running', kind: 'traffic' })
    const run = await ended(id)
    const total = planned(samplePlan()).reduce((sum, { requests }) => sum + requests, 0)
    expect(run).toMatchObject({ state: 'succeeded', done: total, total, counts: { '201': total }, error: null })
    expect(asked).toHaveLength(total)
    expect(new Set(asked).size).toBe(1)
    await vi.waitFor(async () => expect(await liveKeys()).toEqual([]))
    expect((await audit()).slice(before)).toEqual(['traffic.send', 'api_key.create', 'api_key.revoke'])
  })

  it('is refused while another run of it is running', async () => {
    held = barrier()
    const first = await begun()
    await held.reached
    expect(await send()).toMatchObject({ refused: 'already_running' })
    held.open()
    await ended(first.id)
    expect(await begun()).toMatchObject({ kind: 'traffic' })
  })

  it('can be aborted, and its API key is revoked', async () => {
    held = barrier()
    const { id } = await begun()
    await held.reached
    await abortRun(bench.store, id)
    held.open()
    expect(await ended(id)).toMatchObject({ state: 'aborted' })
    await vi.waitFor(async () => expect(await liveKeys()).toEqual([]))
  })

  it('is aborted when its node stops, and its API key is revoked', async () => {
    held = barrier()
    const { id } = await begun()
    await held.reached
    held.open()
    await runner.stop()
    expect(await findRun(bench.store, id)).toMatchObject({ state: 'aborted' })
    expect(await liveKeys()).toEqual([])
  })

  it('fails when the API is unreachable, and its API key is revoked all the same', async () => {
    const { id } = await begun(OLGA, { url: 'http://127.0.0.1:1' })
    expect(await ended(id)).toMatchObject({ state: 'failed', error: 'the API could not be reached' })
    await vi.waitFor(async () => expect(await liveKeys()).toEqual([]))
  })

  it('fails when the API refuses its key', async () => {
    status = 401
    expect(await ended((await begun()).id)).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('disabled'),
    })
  })

  it('of a dead node is marked failed by the next run, which revokes its API key', async () => {
    await bench.rows(
      `INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, state, counts, sample, heartbeat_at)
       VALUES ('run_dead', 'traffic', false, false, 'opr_olga', 'running', '{}', '{}', now() - interval '2 minutes')`,
    )
    await bench.rows(`INSERT INTO api_keys (id, tenant_id, name, hash) VALUES ('key_left', 'ten_demo', $1, 'x')`, [
      KEY_NAME,
    ])
    const { id } = await begun()
    expect(await findRun(bench.store, 'run_dead')).toMatchObject({ state: 'failed' })
    await ended(id)
    expect(await bench.rows(`SELECT revoked_at IS NULL AS live FROM api_keys WHERE id = 'key_left'`)).toEqual([
      { live: false },
    ])
  })

  it('is forbidden for viewers, and the attempt is audited', async () => {
    expect(await send(VERA)).toMatchObject({ refused: 'forbidden' })
    expect(await bench.rows('SELECT 1 FROM runs')).toEqual([])
    expect((await audit()).at(-1)).toBe('traffic.send')
  })

  it('is refused when the provider is not the sandbox', async () => {
    expect(await send(OLGA, { isSandbox: false })).toMatchObject({ refused: 'not_found' })
    expect(await bench.rows('SELECT 1 FROM runs')).toEqual([])
  })
})
