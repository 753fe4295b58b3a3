// What is wrong inside stays inside: no stack, no SQL and no secret reaches a client, and no secret the log.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { ADMIN_TOKEN, API_KEY, createClient, freshKey, orderBody, SECRETS, send, until } from '../support/client'
import { cloneDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

const ENV = {
  ...SECRETS,
  ...SHORT_TIMES,
  LOG_LEVEL: 'debug',
  WORKER: 'off',
  METRICS_TOKEN: 'metrics-token-0123456789abcdef0123',
}
const OUR_INSIDES = /\bat \S+ \(|SELECT|INSERT|relation|column|node_modules|\.ts\b|\.js\b|postgres|cause|stack/i

let database: Awaited<ReturnType<typeof cloneDatabase>>
let role: string
let password: string
let node: TestNode
beforeAll(async () => {
  database = await cloneDatabase()
  role = `app_${randomBytes(4).toString('hex')}`
  password = `pass-${randomBytes(8).toString('hex')}`
  await runSql(database.url, `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD '${password}'`)
  node = await startNode({ databaseUrl: urlWith(password), env: ENV })
})
afterAll(async () => {
  await node?.stop()
  await database?.drop()
  await runSql(inject('postgresUrl'), `DROP ROLE ${role}`)
})

function urlWith(secret: string): string {
  const url = new URL(database.url)
  url.username = role
  url.password = secret
  return url.href
}

const logged = (requestId: string): Record<string, unknown>[] =>
  node
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.requestId === requestId)

/** The welcome is for the eyes of the person who starts it; what comes after it is the log. */
function expectNoSecrets(output: string): void {
  const log = output.split('API reference:').at(-1)!
  for (const secret of [API_KEY, ADMIN_TOKEN, ENV.METRICS_TOKEN, password]) expect(log.includes(secret)).toBe(false)
}

describe('an internal error', () => {
  // What a forgotten migration or a slip in a statement would look like.
  beforeAll(() =>
    runSql(
      database.url,
      `ALTER TABLE orders RENAME COLUMN customer_id TO was_customer_id;
       ALTER TABLE tenants RENAME COLUMN name TO was_name`,
    ),
  )
  afterAll(() =>
    runSql(
      database.url,
      `ALTER TABLE orders RENAME COLUMN was_customer_id TO customer_id;
       ALTER TABLE tenants RENAME COLUMN was_name TO name`,
    ),
  )

  test.each([
    ['an operator’s read', 'GET', '/api/admin/tenants', ADMIN_TOKEN],
    ['an operator’s change', 'POST', '/api/admin/tenants', ADMIN_TOKEN],
    ['a client’s read', 'GET', '/api/orders', API_KEY],
    ['a client’s order', 'POST', '/api/orders', API_KEY],
  ])('in %s is a 500 without internal details, logged with its request id', async (_, method, path, token) => {
    const requestId = `bug-${freshKey()}`
    const answer = await send(new URL(path, node.url), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'x-request-id': requestId,
        ...(method === 'POST' ? { 'content-type': 'application/json', 'idempotency-key': freshKey() } : {}),
      },
      body: method === 'GET' ? undefined : path === '/api/orders' ? orderBody() : { name: requestId.slice(0, 64) },
    })
    const { detail } = expectProblem(answer, 500, 'internal_error', 'later')
    expect(detail).not.toMatch(OUR_INSIDES)
    expect(answer.bytes.toString()).not.toMatch(OUR_INSIDES)
    expect(JSON.stringify(answer.headers)).not.toMatch(/SELECT|relation|column|node_modules/i)
    await until(
      async () => logged(requestId),
      (lines) => lines.length > 0,
    )
    expect(logged(requestId)).toEqual([
      expect.objectContaining({
        level: 50,
        err: expect.objectContaining({ message: expect.stringContaining('column') }),
      }),
    ])
    expectNoSecrets(node.output())
  })
})

describe('the database password', () => {
  test('is not in the output of a node that can’t start because it is wrong', async () => {
    const wrong = `wrong-${randomBytes(8).toString('hex')}`
    const failed = await startNode({ databaseUrl: urlWith(wrong), env: ENV }).then(
      () => 'started',
      (error: Error) => error.message,
    )
    expect(failed).toMatch(/password authentication failed/)
    expect(failed).not.toContain(wrong)
    expectNoSecrets(failed)
  })

  test('is in neither the log nor the answers of a node after it was changed', async () => {
    await runSql(database.url, `ALTER ROLE ${role} PASSWORD 'another-one'`)
    await runSql(database.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`)
    try {
      // The first requests may still meet a connection that ends under them.
      const requestIds: string[] = []
      const { answer } = await until(
        async () => {
          const requestId = `lost-${freshKey()}`
          requestIds.push(requestId)
          const refused = await createClient(node.url).get('/api/orders', { 'x-request-id': requestId })
          return { answer: refused, log: JSON.stringify(requestIds.flatMap(logged)) }
        },
        ({ answer: { status }, log }) => status === 503 && log.includes('password authentication failed'),
      )
      expectProblem(answer, 503, 'idempotency_store_unavailable', 'later')
      expect(answer.bytes.toString()).not.toMatch(OUR_INSIDES)
      expect((await send(`${node.url}/api/ready`)).json()).toEqual({ status: 'database not available' })
      expectNoSecrets(node.output())
    } finally {
      await runSql(database.url, `ALTER ROLE ${role} PASSWORD '${password}'`)
    }
  })
})
