// Who is calling, and that nobody is told anything of anybody else.
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  createClient,
  freshKey,
  type Headers,
  type OrderView,
  orderBody,
  send,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'
import { addApiKey, addTenant, runSql } from '../support/tenant'

let site: SharedSite
beforeAll(async () => {
  site = await shareSite()
})

const otherTenant = async () => createClient(site.url, (await addTenant(site.databaseUrl)).apiKey)

describe('two tenants', () => {
  test('with the same key and body get separate orders', async () => {
    const other = await otherTenant()
    const key = freshKey()
    const body = orderBody()
    const [mine, theirs] = [await site.client.order(key, body), await other.order(key, body)]
    for (const answer of [mine, theirs]) {
      expect(answer.status).toBe(201)
      expect(answer.headers['idempotent-replayed']).toBeUndefined()
    }
    expect(theirs.json<OrderView>().id).not.toBe(mine.json<OrderView>().id)
    expect((await other.order(key, body)).bytes).toEqual(theirs.bytes)
    expect((await site.client.order(key, body)).bytes).toEqual(mine.bytes)
  })

  test('with the same key and different bodies do not conflict', async () => {
    const other = await otherTenant()
    const key = freshKey()
    expect((await site.client.order(key, orderBody())).status).toBe(201)
    expect((await other.order(key, orderBody({ currency: 'EUR' }))).status).toBe(201)
  })

  test('with the same key at the same time both succeed', async () => {
    const other = await otherTenant()
    const key = freshKey()
    const body = orderBody()
    const answers = await Promise.all([site.client.order(key, body), other.order(key, body)])
    expect(answers.map((answer) => answer.status)).toEqual([201, 201])
  })

  test('a body can’t name a tenant', async () => {
    const { id } = await addTenant(site.databaseUrl)
    expectProblem(await site.client.order(freshKey(), { ...orderBody(), tenantId: id }), 400, 'invalid_request', 'same')
  })
})

describe('an API key', () => {
  const post = (headers: Headers) =>
    send(`${site.url}/api/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'the-same-key-for-all', ...headers },
      body: orderBody(),
    })
  const told = ({ status, bytes, headers }: Answer) => {
    const { date: _, 'x-request-id': __, ...others } = headers
    return { status, body: bytes.toString(), others }
  }

  test('that is missing, malformed, unknown, revoked or of a disabled tenant gets the same 401', async () => {
    const revoked = await addTenant(site.databaseUrl)
    await runSql(site.databaseUrl, 'UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1', [revoked.id])
    const disabled = await addTenant(site.databaseUrl)
    await runSql(site.databaseUrl, 'UPDATE tenants SET disabled_at = now() WHERE id = $1', [disabled.id])
    const unknown = await post({ authorization: 'Bearer oo_live_0000000000000000000000000000000000000000' })
    expectProblem(unknown, 401, 'unauthenticated', 'same')
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Bearer two words',
      `Bearer ${'x'.repeat(5000)}`,
      'Bearer \u00e9\u00e9',
      'Basic b25jZTpvdmVy',
      'oo_live_0000000000000000000000000000000000000000',
      `Bearer ${revoked.apiKey}`,
      `Bearer ${disabled.apiKey}`,
    ])
      expect({ authorization, ...told(await post({ authorization })) }).toEqual({ authorization, ...told(unknown) })
  })

  test('is accepted with Bearer in any letter case', async () => {
    const { apiKey } = await addTenant(site.databaseUrl)
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect((await send(`${site.url}/api/orders`, { headers: { authorization: `${scheme} ${apiKey}` } })).status).toBe(
        200,
      )
  })
})

describe('within 5 seconds', () => {
  const deadWithin5s = (client: ReturnType<typeof createClient>) =>
    until(
      () => client.get('/api/orders'),
      (answer) => answer.status === 401,
      5000,
    )

  test.concurrent('a revoked API key is refused, and the tenant’s other key still works', async () => {
    const tenant = await addTenant(site.databaseUrl)
    const other = createClient(site.url, await addApiKey(site.databaseUrl, tenant.id))
    const client = createClient(site.url, tenant.apiKey)
    expect((await client.order(freshKey(), orderBody())).status).toBe(201)
    expect((await other.get('/api/orders')).status).toBe(200)
    await runSql(site.databaseUrl, `UPDATE api_keys SET revoked_at = now() WHERE hash = sha256($1::bytea)`, [
      Buffer.from(tenant.apiKey),
    ])
    await deadWithin5s(client)
    expectProblem(await client.order(freshKey(), orderBody()), 401, 'unauthenticated', 'same')
    expect((await other.get('/api/orders')).status).toBe(200)
  })

  test.concurrent('a disabled tenant is refused under steady traffic, and accepted again once it is enabled', async () => {
    const tenant = await addTenant(site.databaseUrl)
    const client = createClient(site.url, tenant.apiKey)
    expect((await client.get('/api/orders')).status).toBe(200)
    await runSql(site.databaseUrl, 'UPDATE tenants SET disabled_at = now() WHERE id = $1', [tenant.id])
    await deadWithin5s(client)
    await runSql(site.databaseUrl, 'UPDATE tenants SET disabled_at = NULL WHERE id = $1', [tenant.id])
    await until(
      () => client.get('/api/orders'),
      (answer) => answer.status === 200,
      5000,
    )
  })
})
