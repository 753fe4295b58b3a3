// Who is calling: the tenant comes from the key alone, a dead key is nobody's, and where that can't be told nobody is
// refused for it.
import sql from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { newId } from '../../lib/db/id'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import type { Statement } from '../../lib/db/store'
import { openStore, type Store } from '../../lib/db/store'
import { hashSecret, newSecret, sameSecret } from '../../lib/secret'
import { type Authenticator, openAuthenticator } from '../../lib/tenants/authenticate'
import { tampered } from '../support/boundary'
import { advance } from '../support/clock'
import { cloneDatabase } from '../support/database'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let store: Store
beforeAll(async () => {
  database = await cloneDatabase()
  store = openStore(database.url, { max: 4, applicationName: 'authenticate' })
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

/** Questions about keys; that a use is noted is nothing that anybody waits for. */
let asked = 0
let lost = false
let authenticator: Authenticator
beforeEach(() => {
  asked = 0
  lost = false
  authenticator = openAuthenticator(
    tampered(store, (send, statement) => {
      if (isNote(statement)) return noting(send)
      asked++
      return lost ? Promise.reject(new StoreUnavailable(null)) : send()
    }),
  )
})
afterEach(() => vi.restoreAllMocks())

const isNote = ({ text }: Statement) => text.includes('UPDATE api_keys')
/** How a use is noted: every test but its own lets it happen. */
let noting: <Row>(send: () => Promise<Row[]>) => Promise<Row[]> = (send) => send()

async function newTenant(): Promise<{ id: string; secret: string }> {
  const id = newId('ten')
  const secret = newSecret('oo_live')
  await store.query(sql`
    INSERT INTO tenants (id, name, retention_hours, new_keys_per_minute, live_key_cap) VALUES (${id}, ${id}, 48, 7, 9)`)
  await newApiKey(id, secret)
  return { id, secret }
}
const newApiKey = (tenantId: string, secret: string) =>
  store.query(sql`
    INSERT INTO api_keys (id, tenant_id, name, hash) VALUES (${newId('key')}, ${tenantId}, 'test', ${hashSecret(secret)})`)

const revoke = (secret: string) =>
  store.query(sql`UPDATE api_keys SET revoked_at = clock_timestamp() WHERE hash = ${hashSecret(secret)}`)
const disable = (id: string) => store.query(sql`UPDATE tenants SET disabled_at = clock_timestamp() WHERE id = ${id}`)

/** The cache looks at the clock once a millisecond: what is expected then is waited for. */
const later = (ms: number) => advance('monotonic', ms)

describe('an API key', () => {
  it('identifies its tenant and the tenant’s limits', async () => {
    const { id, secret } = await newTenant()
    expect(await authenticator.authenticate(secret)).toEqual({
      id,
      retentionHours: 48,
      newKeysPerMinute: 7,
      liveKeyCap: 9,
    })
  })

  it('identifies its tenant also when it is the tenant’s second key', async () => {
    const { id } = await newTenant()
    const second = newSecret('oo_live')
    await newApiKey(id, second)
    expect(await authenticator.authenticate(second)).toMatchObject({ id })
  })

  it.each([
    ['unknown', async () => newSecret('oo_live')],
    ['empty', async () => ''],
    [
      'revoked',
      async () => {
        const { secret } = await newTenant()
        await revoke(secret)
        return secret
      },
    ],
    [
      'of a disabled tenant',
      async () => {
        const { id, secret } = await newTenant()
        await disable(id)
        return secret
      },
    ],
  ])('that is %s authenticates no tenant', async (_, make) => {
    expect(await authenticator.authenticate(await make())).toBeNull()
  })

  it('is read from the store once for a burst of requests, and cached for a moment', async () => {
    const { secret } = await newTenant()
    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(secret)))
    await authenticator.authenticate(secret)
    expect(asked).toBe(1)
  })

  it.each([
    ['revoked', (tenant: { id: string; secret: string }) => revoke(tenant.secret)],
    ['disabled with its tenant', (tenant: { id: string; secret: string }) => disable(tenant.id)],
  ])('that is %s is rejected within five seconds, however often it is used', async (_, kill) => {
    const tenant = await newTenant()
    expect(await authenticator.authenticate(tenant.secret)).not.toBeNull()
    later(2000)
    expect(await authenticator.authenticate(tenant.secret)).not.toBeNull()
    await kill(tenant)
    later(2500)
    await vi.waitFor(async () => expect(await authenticator.authenticate(tenant.secret)).toBeNull())
  })

  it('that was rejected as unknown is accepted as soon as it exists', async () => {
    const { id } = await newTenant()
    const secret = newSecret('oo_live')
    expect(await authenticator.authenticate(secret)).toBeNull()
    await newApiKey(id, secret)
    expect(await authenticator.authenticate(secret)).toMatchObject({ id })
  })
})

describe('the last use of an API key', () => {
  afterEach(() => {
    noting = (send) => send()
  })
  const lastUse = async (secret: string) =>
    (
      await store.query<{ at: Date | null }>(sql`
      SELECT last_used_at AS at FROM api_keys WHERE hash = ${hashSecret(secret)}`)
    )[0]!.at
  const usedBefore = (secret: string, seconds: number) =>
    store.query(sql`
      UPDATE api_keys SET last_used_at = clock_timestamp() - ${seconds}::int * interval '1 s'
      WHERE hash = ${hashSecret(secret)}`)

  it('is stored', async () => {
    const { secret } = await newTenant()
    expect(await lastUse(secret)).toBeNull()
    await authenticator.authenticate(secret)
    await vi.waitFor(async () => expect(await lastUse(secret)).toBeInstanceOf(Date))
  })

  it('is stored once a minute, however many nodes see it', async () => {
    const { secret } = await newTenant()
    let notes = 0
    let written = 0
    noting = async (send) => {
      notes++
      const rows = await send()
      written++
      return rows
    }
    await usedBefore(secret, 59)
    await authenticator.authenticate(secret)
    expect(notes).toBe(0)
    await usedBefore(secret, 61)
    const before = await lastUse(secret)
    later(3100)
    await vi.waitFor(async () => {
      await authenticator.authenticate(secret)
      expect(notes).toBe(1)
    })
    await vi.waitFor(() => expect(written).toBe(1))
    const after = await lastUse(secret)
    expect(after!.getTime()).toBeGreaterThan(before!.getTime())
    later(6200)
    await authenticator.authenticate(secret)
    expect(notes).toBe(1)
    // A second node that read just before the first one wrote changes nothing.
    await openAuthenticator(
      tampered(store, async (send, statement) => {
        if (!isNote(statement)) return (await send()).map((row) => ({ ...row, use_is_due: true }))
        return send()
      }),
    ).authenticate(secret)
    await store.query(sql`SELECT pg_sleep(0.05)`)
    expect(await lastUse(secret)).toEqual(after)
  })

  it('neither delays a request while it is being stored nor fails one when it can’t be', async () => {
    const { id, secret } = await newTenant()
    noting = () => new Promise(() => {})
    expect(await authenticator.authenticate(secret)).toMatchObject({ id })
    const other = await newTenant()
    noting = () => Promise.reject(new StoreUnavailable(null))
    expect(await authenticator.authenticate(other.secret)).toMatchObject({ id: other.id })
  })

  it('is not stored for a revoked key', async () => {
    const { secret } = await newTenant()
    await revoke(secret)
    let notes = 0
    noting = (send) => {
      notes++
      return send()
    }
    expect(await authenticator.authenticate(secret)).toBeNull()
    expect(notes).toBe(0)
  })
})

describe('authentication with an unreachable store', () => {
  it('fails with StoreUnavailable instead of rejecting the API key', async () => {
    const { secret } = await newTenant()
    lost = true
    await expect(authenticator.authenticate(secret)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(authenticator.authenticate('unknown')).rejects.toBeInstanceOf(StoreUnavailable)
    lost = false
    expect(await authenticator.authenticate(secret)).not.toBeNull()
  })

  it('accepts a cached API key until its cache entry ends', async () => {
    const { id, secret } = await newTenant()
    await authenticator.authenticate(secret)
    lost = true
    expect(await authenticator.authenticate(secret)).toMatchObject({ id })
    later(3100)
    await vi.waitFor(() => expect(authenticator.authenticate(secret)).rejects.toBeInstanceOf(StoreUnavailable))
  })
})

describe('a secret', () => {
  it('is random, and equal only to itself', () => {
    const [one, other] = [newSecret('oo_live'), newSecret('oo_live')]
    expect(one).toMatch(/^oo_live_[0-9a-f]{40}$/)
    expect(sameSecret(one, one)).toBe(true)
    expect(sameSecret(one, other)).toBe(false)
    expect(sameSecret(one, one.slice(0, -1))).toBe(false)
    expect(sameSecret(one, '')).toBe(false)
  })
})
