// What a node prints while it serves: lines of JSON, and none for a request by a stranger that fails as it must.
import { once } from 'node:events'
import net from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshKey, type Headers, orderBody, SECRETS, type Sending, send } from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

let database: TestDatabase
let node: TestNode
beforeAll(async () => {
  database = await cloneDatabase()
  node = await startNode({ databaseUrl: database.url, env: { ...SECRETS, ...SHORT_TIMES, LOG_LEVEL: 'warn' } })
})
afterAll(async () => {
  await node?.stop()
  await database?.drop()
})

/** Since the lines that a person reads after the start. */
const lines = (): string[] =>
  node
    .output()
    .split(/ {2}Console: .*\n/)[1]!
    .split('\n')
    .filter(Boolean)

const NO_ACTION = '7f00aabbccddeeff00112233445566778899aabbcc'
const form = (name: string): Sending => ({
  method: 'POST',
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  body: `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nx\r\n--b--\r\n`,
})
const page = (headers: Headers): Sending => ({ headers })
const action = (id: string): Sending => ({ ...form('1_a'), headers: { ...form('1_a').headers, 'next-action': id } })

const BY_STRANGERS: [string, Sending?][] = [
  ['/'],
  ['/keys'],
  ['/keys?state=unknown&q=%ff'],
  ['/keys/x'],
  ['/operators'],
  ['/nothing'],
  ['/%ff'],
  ['//elsewhere.example/a'],
  ['/_next/image?url=%2Ficon.svg&w=64&q=75'],
  ['/_next/data/x.json'],
  ['/_next/static/none.js'],
  ['/keys', page({ rsc: '1', 'next-router-state-tree': '%5B%22' })],
  ['/login', page({ rsc: '1', 'next-router-state-tree': 'x' })],
  ['/keys', page({ 'x-middleware-subrequest': 'proxy:proxy:proxy' })],
  ['/keys', page({ cookie: 'onceover.session_token=x.y; a=%ff' })],
  ['/keys', { ...page({ 'next-resume': '1' }), method: 'POST' }],
  ['/login', form('a')],
  ['/login', form('$ACTION_ID_00')],
  ['/login', form(`$ACTION_ID_${NO_ACTION}`)],
  ['/login', form('$ACTION_REF_1')],
  ['/login', action('00')],
  ['/login', action(NO_ACTION)],
  ['/keys', action(NO_ACTION)],
  ['/login', { method: 'POST', headers: { 'next-action': NO_ACTION, 'content-type': 'text/plain' }, body: '[' }],
  ['/login', { method: 'PUT', body: 'x' }],
  ['/robots.txt', { method: 'POST', body: 'x' }],
  ['/api/orders', { method: 'POST', body: '{' }],
  ['/api/orders', { method: 'DELETE' }],
  ['/api/admin/keys'],
  ['/api/metrics'],
  ['/api/webhooks/sandbox', { method: 'POST', body: '{}' }],
  ['/api/auth/sign-in', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }],
]
const BROKEN = [
  'GET\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  'POST /api/orders HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{',
]

test.each(BY_STRANGERS)('a stranger’s request for %s (%j) adds no line to the log', async (path, sending) => {
  const before = lines().length
  const { status } = await send(new URL(path.startsWith('//') ? `${node.url}${path}` : path, node.url), sending)
  expect(status).toBeLessThan(500)
  await logged()
  expect(lines().slice(before)).toEqual([])
})

test.each(BROKEN)('bytes that are no request (%j) add no line to the log', async (bytes) => {
  const before = lines().length
  const socket = net.connect(Number(new URL(node.url).port), '127.0.0.1').on('error', () => {})
  socket.resume().end(bytes)
  await once(socket, 'close')
  await logged()
  expect(lines().slice(before)).toEqual([])
})

test('every line that a node prints while its database is away, and when it stops, is JSON', async () => {
  const server = Object.assign(new URL(database.url), { pathname: '/postgres' }).href
  const name = new URL(database.url).pathname.slice(1)
  await runSql(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await runSql(server, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
  const headers = { authorization: `Bearer ${SECRETS.DEMO_API_KEY}`, 'idempotency-key': freshKey() }
  const order = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: orderBody() }
  expect((await send(new URL('/api/orders', node.url), order)).status).toBe(503)
  await send(new URL('/keys', node.url))
  await node.stop()
  expect(lines()).not.toEqual([])
  for (const line of lines()) expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number) })
})

/** By the time that a later request is answered, what the one before it printed has come, too. */
const logged = () => send(new URL('/api/health', node.url))
