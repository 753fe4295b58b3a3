// Tenants and API keys through the operator API, over two nodes: what an admin changes holds on both within seconds, and
// nothing has to be restarted.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashSecret } from '../../lib/secret'
import {
  ADMIN_TOKEN,
  type Answer,
  createClient,
  freshKey,
  type Headers,
  orderBody,
  SECRETS,
  send,
  until,
} from '../support/client'
import { cloneDatabase } from '../support/database'
import { startNode } from '../support/node'
import { expectProblem } from '../support/problem'
import { SHORT_TIMES } from '../support/site'
import { runSql } from '../support/tenant'

type Node = Awaited<ReturnType<typeof startNode>>

let database: Awaited<ReturnType<typeof cloneDatabase>>
let nodes: [Node, Node]
let viewer: string
let operator: string
beforeAll(async () => {
  database = await cloneDatabase()
  const start = () => startNode({ databaseUrl: database.url, env: { ...SECRETS, ...SHORT_TIMES, WORKER: 'off' } })
  nodes = await Promise.all([start(), start()])
  viewer = await newToken('viewer')
  operator = await newToken('operator')
})
afterAll(async () => {
  await Promise.all((nodes ?? []).map((node) => node.stop()))
  await database?.drop()
})

async function newToken(role: string): Promise<string> {
  const token = `oo_op_${randomUUID()}`
  await runSql(
    database.url,
    `INSERT INTO operator_tokens (id, name, role, hash, created_by) VALUES ($1, $1, $2, $3, 'a test')`,
    [`tok_${role}`, role, hashSecret(token)],
  )
  return token
}

interface TenantView {
  id: string
  name: string
  disabled: boolean
  [member: string]: unknown
}
type KeyView = { id: string; name: string; secret: string }

function admin(method: string, path: string, body?: unknown, headers: Headers = {}, token = ADMIN_TOKEN) {
  return send(new URL(`/api/admin/tenants${path}`, nodes[0].url), {
    method,
    body,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  })
}
async function newTenant(settings: object = {}): Promise<TenantView> {
  const answer = await admin('POST', '', { name: randomUUID(), ...settings })
  expect(answer.status).toBe(201)
  return answer.json<TenantView>()
}
async function newKey(tenantId: string, name = 'checkout'): Promise<KeyView> {
  const answer = await admin('POST', `/${tenantId}/api-keys`, { name })
  expect(answer.status).toBe(201)
  return answer.json<KeyView>()
}
const clientsOf = (apiKey: string) => nodes.map((node) => createClient(node.url, apiKey))

/** Every node answers like this within so many seconds, and goes on to. */
async function everywhere(ask: (node: Node) => Promise<Answer>, status: number, withinMs: number): Promise<void> {
  await Promise.all(
    nodes.map((node) =>
      until(
        () => ask(node),
        (answer) => answer.status === status,
        withinMs,
      ),
    ),
  )
  for (const node of nodes) expect((await ask(node)).status).toBe(status)
}

describe('a tenant', () => {
  test('is created, listed, shown and changed', async () => {
    const name = randomUUID()
    const made = await admin('POST', '', { name, retentionHours: 72 })
    expect(made.status).toBe(201)
    const tenant = made.json<TenantView>()
    expect(tenant).toEqual({
      id: expect.stringMatching(/^ten_[0-9a-z]{26}$/),
      name,
      retentionHours: 72,
      newKeysPerMinute: 600_000,
      liveKeyCap: 10_000_000,
      disabled: false,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    })
    const listed = (await admin('GET', '?limit=100')).json<{ items: TenantView[]; nextCursor: string | null }>()
    expect(listed.items.find(({ id }) => id === tenant.id)).toEqual({ ...tenant, apiKeyCount: 0, liveKeyCount: 0 })
    const shown = { ...tenant, apiKeyCount: 0, liveKeyCount: 0, apiKeys: [] }
    expect((await admin('GET', `/${tenant.id}`)).json()).toEqual(shown)
    const changed = await admin('PATCH', `/${tenant.id}`, { retentionHours: null, newKeysPerMinute: 5 })
    expect(changed.status).toBe(200)
    expect(changed.json()).toEqual({ ...tenant, retentionHours: null, newKeysPerMinute: 5 })
    expect((await admin('PATCH', `/${tenant.id}`)).json()).toEqual(changed.json())
  })

  test('is listed exactly once over all pages of the list', async () => {
    for (let count = 0; count < 3; count++) await newTenant()
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Answer = await admin('GET', `?limit=2${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`)
      const { items, nextCursor }: { items: TenantView[]; nextCursor: string | null } = page.json()
      seen.push(...items.map(({ id }) => id))
      cursor = nextCursor
    } while (cursor)
    const all = await runSql<{ id: string }>(database.url, 'SELECT id FROM tenants ORDER BY created_at DESC, id DESC')
    expect(seen).toEqual(all.map(({ id }) => id))
  })

  test.each<[string, object]>([
    ['without a name', {}],
    ['with an empty name', { name: '  ' }],
    ['with a name that is too long', { name: 'x'.repeat(65) }],
    ['with a NUL in its name', { name: 'a\0b' }],
    ['with a retention of 0 hours', { name: 'x', retentionHours: 0 }],
    ['with a retention of more than a year', { name: 'x', retentionHours: 8785 }],
    ['with a negative rate', { name: 'x', newKeysPerMinute: -1 }],
    ['with a rate of half a key per minute', { name: 'x', newKeysPerMinute: 0.5 }],
    ['with a cap above the integer range', { name: 'x', liveKeyCap: 2 ** 31 }],
    ['with a disabled flag that is not a boolean', { name: 'x', disabled: 'no' }],
    ['with an unknown member', { name: 'x', id: 'ten_1' }],
  ])('%s is refused', async (_, body) => {
    expectProblem(await admin('POST', '', body), 400, 'invalid_request', 'same')
  })

  test('can’t take the name of another tenant', async () => {
    const [one, other] = [await newTenant(), await newTenant()]
    expectProblem(await admin('POST', '', { name: one.name }), 409, 'already_exists', 'new')
    expectProblem(await admin('PATCH', `/${other.id}`, { name: one.name }), 409, 'already_exists', 'new')
  })

  test('that does not exist is a 404, whatever its id looks like', async () => {
    for (const id of ['ten_00000000000000000000000000', 'ten_', 'acme', '%00', "'%20OR%201=1"]) {
      expectProblem(await admin('GET', `/${id}`), 404, 'not_found', 'none')
      expectProblem(await admin('PATCH', `/${id}`, { disabled: true }), 404, 'not_found', 'none')
      expectProblem(await admin('POST', `/${id}/api-keys`, { name: 'x' }), 404, 'not_found', 'none')
    }
  })

  test('listing with an invalid cursor, limit or unknown parameter is a 400', async () => {
    for (const query of ['?cursor=x', '?cursor=e30', '?limit=0', '?limit=101', '?limit=x', '?page=2'])
      expectProblem(await admin('GET', query), 400, 'invalid_request', 'same')
  })

  test('is created once per Idempotency-Key: a repeated request is replayed, another name is a 422', async () => {
    const name = randomUUID()
    const key = freshKey()
    const make = () => admin('POST', '', { name }, { 'idempotency-key': key })
    const first = await make()
    expect(first.status).toBe(201)
    const again = await make()
    expect(again.bytes).toEqual(first.bytes)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expectProblem(
      await admin('POST', '', { name: randomUUID() }, { 'idempotency-key': key }),
      422,
      'idempotency_key_reused',
      'new',
    )
  })
})

describe('an API key', () => {
  test('has its secret shown only on creation, and works on every node at once', async () => {
    const tenant = await newTenant()
    const key = await newKey(tenant.id)
    expect(key).toEqual({
      id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
      name: 'checkout',
      secret: expect.stringMatching(/^oo_live_[0-9a-f]{40}$/),
    })
    for (const client of clientsOf(key.secret)) expect((await client.order(freshKey(), orderBody())).status).toBe(201)
    const shown = await until(
      () => admin('GET', `/${tenant.id}`),
      (answer) => !answer.bytes.includes('"lastUsedAt":null'),
    )
    expect(shown.json<{ apiKeys: object[] }>().apiKeys).toEqual([
      { id: key.id, name: 'checkout', createdAt: expect.any(String), revokedAt: null, lastUsedAt: expect.any(String) },
    ])
    expect(shown.bytes.toString()).not.toMatch(/hash|oo_live/)
  })

  test('is created once per Idempotency-Key, and its secret is neither shown again nor stored', async () => {
    const tenant = await newTenant()
    const idempotencyKey = freshKey()
    const make = () => admin('POST', `/${tenant.id}/api-keys`, { name: 'x' }, { 'idempotency-key': idempotencyKey })
    const { secret } = (await make()).json<KeyView>()
    expectProblem(await make(), 409, 'already_created', 'new')
    expect((await admin('GET', `/${tenant.id}`)).json<{ apiKeys: object[] }>().apiKeys).toHaveLength(1)
    const stored = await runSql(database.url, 'SELECT * FROM operator_requests')
    expect(JSON.stringify(stored)).not.toContain(secret)
  })

  test('that is revoked under load is refused on every node within 5 seconds, and the tenant’s other key still works', async () => {
    const tenant = await newTenant()
    const [key, other] = [await newKey(tenant.id), await newKey(tenant.id, 'other')]
    const lastAlive = nodes.map(() => 0)
    let loading = true
    const load = clientsOf(key.secret).flatMap((client, node) =>
      Array.from({ length: 4 }, async () => {
        while (loading) {
          const { status } = await client.get('/api/orders?limit=1')
          if (status === 200) lastAlive[node] = performance.now()
        }
      }),
    )
    await until(
      async () => lastAlive,
      (alive) => alive.every((at) => at > 0),
    )
    expect((await admin('DELETE', `/${tenant.id}/api-keys/${key.id}`)).status).toBe(204)
    const revokedAt = performance.now()
    await everywhere((node) => createClient(node.url, key.secret).get('/api/orders'), 401, 5000)
    await new Promise((resolve) => setTimeout(resolve, revokedAt + 6000 - performance.now()))
    loading = false
    await Promise.all(load)
    for (const at of lastAlive) expect(at - revokedAt).toBeLessThan(5000)
    for (const client of clientsOf(other.secret)) expect((await client.get('/api/orders')).status).toBe(200)
  })

  test('can be revoked twice; revoking another tenant’s key or an unknown key is a 404', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    const key = await newKey(tenant.id)
    expectProblem(await admin('DELETE', `/${other.id}/api-keys/${key.id}`), 404, 'not_found', 'none')
    expect((await clientsOf(key.secret)[0]!.get('/api/orders')).status).toBe(200)
    for (let time = 0; time < 2; time++) {
      const gone = await admin('DELETE', `/${tenant.id}/api-keys/${key.id}`)
      expect({ status: gone.status, body: gone.bytes.toString() }).toEqual({ status: 204, body: '' })
    }
    expectProblem(
      await admin('DELETE', `/${tenant.id}/api-keys/key_00000000000000000000000000`),
      404,
      'not_found',
      'none',
    )
  })
})

describe('within the authenticator’s 3 seconds, every node', () => {
  const SECONDS = 3500

  test.concurrent('refuses a disabled tenant, and accepts it again once it is enabled', async () => {
    const tenant = await newTenant()
    const { secret } = await newKey(tenant.id)
    const ask = (node: Node) => createClient(node.url, secret).get('/api/orders')
    await everywhere(ask, 200, 1000)
    expect((await admin('PATCH', `/${tenant.id}`, { disabled: true })).json()).toMatchObject({ disabled: true })
    await everywhere(ask, 401, SECONDS)
    await admin('PATCH', `/${tenant.id}`, { disabled: false })
    await everywhere(ask, 200, 1000)
  })

  test.concurrent('applies a tenant’s new rate limit', async () => {
    const tenant = await newTenant()
    const { secret } = await newKey(tenant.id)
    const order = (node: Node) => createClient(node.url, secret).order(freshKey(), orderBody())
    await everywhere(order, 201, 1000)
    await admin('PATCH', `/${tenant.id}`, { newKeysPerMinute: 1 })
    await everywhere(order, 429, SECONDS)
    await admin('PATCH', `/${tenant.id}`, { newKeysPerMinute: 1000 })
    await everywhere(order, 201, SECONDS)
  })

  test.concurrent('applies a tenant’s new cap of live keys', async () => {
    const tenant = await newTenant()
    const { secret } = await newKey(tenant.id)
    const order = (node: Node) => createClient(node.url, secret).order(freshKey(), orderBody())
    await everywhere(order, 201, 1000)
    await admin('PATCH', `/${tenant.id}`, { liveKeyCap: 1 })
    await everywhere(order, 429, SECONDS)
  })

  test.concurrent('applies a tenant’s new retention to new keys', async () => {
    const tenant = await newTenant({ retentionHours: 1 })
    const { secret } = await newKey(tenant.id)
    const hoursOf = async (node: Node) => {
      const { headers } = await createClient(node.url, secret).order(freshKey(), orderBody())
      return Math.round((Date.parse(headers['idempotency-expires'] as string) - Date.now()) / 3_600_000)
    }
    for (const node of nodes) expect(await hoursOf(node)).toBe(1)
    await admin('PATCH', `/${tenant.id}`, { retentionHours: 48 })
    for (const node of nodes)
      await until(
        () => hoursOf(node),
        (hours) => hours === 48,
        SECONDS,
      )
    await admin('PATCH', `/${tenant.id}`, { retentionHours: null })
    for (const node of nodes)
      await until(
        () => hoursOf(node),
        (hours) => hours === 24,
        SECONDS,
      )
  })
})

describe('an operator token without the admin role', () => {
  const CALLS: [string, string, unknown?][] = [
    ['GET', ''],
    ['POST', '', { name: 'x' }],
    ['GET', '/ten_00000000000000000000000000'],
    ['PATCH', '/ten_00000000000000000000000000', { disabled: true }],
    ['POST', '/ten_00000000000000000000000000/api-keys', { name: 'x' }],
    ['DELETE', '/ten_00000000000000000000000000/api-keys/key_00000000000000000000000000'],
  ]

  test.each(CALLS)('gets a 403 for %s %s, and the attempt is audited', async (method, path, body) => {
    const count = async () =>
      (
        await runSql<{ count: number }>(
          database.url,
          'SELECT coalesce(sum(count), 0)::int AS count FROM audit_refusals',
        )
      )[0]!.count
    const before = await count()
    for (const token of [viewer, operator])
      expectProblem(await admin(method, path, body, {}, token), 403, 'forbidden', 'none')
    expect(await count()).toBe(before + 2)
    for (const authorization of [undefined, 'Bearer nobody', `Bearer ${SECRETS.DEMO_API_KEY}`])
      expectProblem(await admin(method, path, body, { authorization }), 401, 'unauthenticated', 'same')
    expect(await count()).toBe(before + 2)
  })

  test('can verify the hash chain of the audit log', async () => {
    await newTenant()
    const answer = await send(`${nodes[1].url}/api/admin/audit/verify`, {
      headers: { authorization: `Bearer ${viewer}` },
    })
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({
      holds: true,
      entries: expect.any(Number),
      brokenAt: null,
      what: null,
      lastHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(answer.json<{ entries: number }>().entries).toBeGreaterThan(0)
    expectProblem(await send(`${nodes[1].url}/api/admin/audit/verify`), 401, 'unauthenticated', 'same')
  })
})
