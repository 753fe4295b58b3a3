// Sample traffic against a real node: from a terminal, and as a script asks for it over HTTP.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ADMIN_TOKEN, API_KEY, send, until } from '../support/client'
import { openSite, type Site } from '../support/site'
import { runSql } from '../support/tenant'

const root = path.resolve(import.meta.dirname, '..', '..')

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site?.close())

async function traffic(args: string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/traffic.ts', ...args], {
    cwd: root,
    env: { NODE_ENV: 'test', PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const read = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const [code] = await once(child, 'exit')
  return { code, output }
}

const recordStates = async () => {
  const rows = await runSql<{ state: string; n: number }>(
    site.databaseUrl,
    'SELECT state, count(*)::int AS n FROM idempotency_records GROUP BY state',
  )
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]))
}

describe('npm run traffic', () => {
  it('sends at the given rate for the given time, and prints how many answers had which status', async () => {
    const startedMs = performance.now()
    const { code, output } = await traffic(['--rate', '60', '--minutes', '0.067', '--url', site.url, '--key', API_KEY])
    expect(code).toBe(0)
    // 241 steps, the last of which begins after four seconds
    expect(performance.now() - startedMs).toBeGreaterThan(3900)
    const [, requests] = /^(\d+) requests sent to/m.exec(output) ?? []
    expect(Number(requests)).toBeGreaterThanOrEqual(240)
    for (const status of ['201', '402', '409', '422', '503', '504'])
      expect(output).toMatch(new RegExp(`^ {2}${status} +\\d+$`, 'm'))
    const states = await recordStates()
    for (const state of ['completed', 'failed_retryable', 'unknown']) expect(states[state]).toBeGreaterThan(0)
  })

  it('reads the address and the key from the environment, too', async () => {
    const given = { ONCEOVER_URL: site.url, ONCEOVER_API_KEY: API_KEY }
    expect(await traffic(['--rate', '50', '--minutes', '0.01'], given)).toMatchObject({ code: 0 })
  })

  it('reports a wrong or missing option, and a server that cannot be reached', async () => {
    expect(await traffic(['--rate', '0', '--key', 'x'])).toMatchObject({
      code: 2,
      output: expect.stringContaining('--rate'),
    })
    expect(await traffic(['--url', site.url])).toMatchObject({ code: 2, output: expect.stringContaining('--key') })
    const nobody = await traffic(['--url', 'http://127.0.0.1:1', '--key', 'x'])
    expect(nobody).toMatchObject({ code: 1, output: expect.stringContaining('could not be reached') })
  })
})

describe('POST /api/sandbox/traffic', () => {
  const call = (path: string, method = 'POST') =>
    send(new URL(path, site.url), {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: {} } : {}),
    })

  it('starts a background run, one at a time, that can be aborted', async () => {
    const begun = await call('/api/sandbox/traffic')
    expect(begun.status).toBe(201)
    const { id } = begun.json<{ id: string }>()
    const second = await call('/api/sandbox/traffic')
    expect(second.status).toBe(409)
    expect(second.json()).toMatchObject({ code: 'already_running' })
    const read = async () => (await call(`/api/admin/runs/${id}`, 'GET')).json<{ done: number; state: string }>()
    await until(read, ({ done }) => done > 10)
    expect((await call(`/api/admin/runs/${id}/abort`)).status).toBe(200)
    expect(await until(read, ({ state }) => state !== 'running')).toMatchObject({ state: 'aborted' })
    await until(
      () => runSql(site.databaseUrl, `SELECT 1 FROM api_keys WHERE name = 'sample traffic' AND revoked_at IS NULL`, []),
      (left) => left.length === 0,
    )
  })
})
