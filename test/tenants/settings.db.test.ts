// Making and changing tenants and their API keys: what is not said stays as it is, what nobody changed is not written,
// and who did what is written with it or not at all.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Actor, type Call, callOf } from '../../lib/operators/actor'
import type { Listed, Position } from '../../lib/operators/page'
import { isRefused, type Refused } from '../../lib/operators/refusal'
import { ROLES } from '../../lib/operators/role'
import { openGuard } from '../../lib/operators/use-case'
import { hashSecret } from '../../lib/secret'
import { openAuthenticator } from '../../lib/tenants/authenticate'
import type { ListedTenant, TenantView } from '../../lib/tenants/tenant'
import { type TenantUseCases, tenantUseCases } from '../../lib/tenants/use-cases'
import { type Bench, before, openBench } from '../support/boundary'

let bench: Bench
let tenants: TenantUseCases
beforeAll(async () => {
  bench = await openBench()
  tenants = tenantUseCases(bench.store, openGuard(bench.store))
})
afterAll(() => bench?.close())

const ada: Actor = { id: 'opr_ada', name: 'Ada', role: 'admin' }
const call = (actor = ada): Call => callOf(actor, 'req_test')

let names = 0
const newName = () => `tenant ${++names}`

function made<T>(result: T | Refused): T {
  if (isRefused(result)) throw new Error(`refused: ${result.refused}`)
  return result
}
const newTenant = async (): Promise<TenantView> => made(await tenants.createTenant(call(), { name: newName() }))

const entries = (target: string) =>
  bench.rows(
    `SELECT actor_id, actor_name, action, outcome, reason, before, after, request_id FROM audit_entries
     WHERE target = $1 ORDER BY seq`,
    [target],
  )
const entry = (action: string, before: object | null, after: object | null, reason: string | null = null) => ({
  actor_id: 'opr_ada',
  actor_name: 'Ada',
  action,
  outcome: 'done',
  reason,
  before,
  after,
  request_id: 'req_test',
})

describe('a new tenant', () => {
  it('has the contract’s defaults for settings that are not given, and its audit entry records them', async () => {
    const name = newName()
    const tenant = made(await tenants.createTenant(call(), { name }))
    const settings = { name, retentionHours: null, newKeysPerMinute: 600_000, liveKeyCap: 10_000_000, disabled: false }
    expect(tenant).toEqual({
      id: expect.stringMatching(/^ten_/),
      ...settings,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(await entries(tenant.id)).toEqual([entry('tenant.create', null, settings)])
  })

  it('has the settings that are given', async () => {
    const settings = { name: newName(), retentionHours: 0.5, newKeysPerMinute: 7, liveKeyCap: 0, disabled: true }
    expect(made(await tenants.createTenant(call(), settings))).toMatchObject(settings)
  })

  it('is refused with the name of another tenant, and no audit entry is written', async () => {
    const { name } = await newTenant()
    const count = () => bench.rows('SELECT count(*) FROM audit_entries')
    const before = await count()
    expect(await tenants.createTenant(call(), { name })).toMatchObject({ refused: 'already_exists' })
    expect(await count()).toEqual(before)
  })

  it('is created once by two simultaneous calls with the same name', async () => {
    const name = newName()
    const both = await Promise.all([tenants.createTenant(call(), { name }), tenants.createTenant(call(), { name })])
    expect(both.filter(isRefused)).toEqual([expect.objectContaining({ refused: 'already_exists' })])
  })

  it('is returned, not created again, when the same call is repeated', async () => {
    const again: Call = { ...call(), newId: () => 'ten_00000000000000000000000001' }
    const name = newName()
    const first = made(await tenants.createTenant(again, { name }))
    expect(await tenants.createTenant(again, { name })).toEqual(first)
    expect(await entries(first.id)).toHaveLength(1)
  })
})

describe('a change of a tenant’s settings', () => {
  it('changes only the given settings, and its audit entry has their old and new values', async () => {
    const tenant = await newTenant()
    const change = { retentionHours: 48, disabled: true }
    expect(await tenants.updateTenant(call(), { id: tenant.id, settings: change })).toEqual({ ...tenant, ...change })
    const back = { id: tenant.id, settings: { retentionHours: null }, reason: 'As it was.' }
    expect(await tenants.updateTenant(call(), back)).toEqual({ ...tenant, disabled: true })
    expect((await entries(tenant.id)).slice(1)).toEqual([
      entry('tenant.update', { retentionHours: null, disabled: false }, change),
      entry('tenant.update', { retentionHours: 48 }, { retentionHours: null }, 'As it was.'),
    ])
  })

  it('has only the settings that differ in its audit entry', async () => {
    const tenant = await newTenant()
    await tenants.updateTenant(call(), { id: tenant.id, settings: { name: tenant.name, liveKeyCap: 5 } })
    expect((await entries(tenant.id)).at(-1)).toEqual(
      entry('tenant.update', { liveKeyCap: 10_000_000 }, { liveKeyCap: 5 }),
    )
  })

  it.each([
    ['no settings', () => ({})],
    ['the current settings', ({ id: _, createdAt: __, ...settings }: TenantView) => settings],
  ])('with %s writes nothing', async (_, change) => {
    const tenant = await newTenant()
    const version = () => bench.rows('SELECT xmin FROM tenants WHERE id = $1', [tenant.id])
    const before = await version()
    expect(await tenants.updateTenant(call(), { id: tenant.id, settings: change(tenant) })).toEqual(tenant)
    expect(await version()).toEqual(before)
    expect(await entries(tenant.id)).toHaveLength(1)
  })

  it('keeps the original disabled_at of a tenant that is already disabled', async () => {
    const { id } = await newTenant()
    await tenants.updateTenant(call(), { id, settings: { disabled: true } })
    const [first] = await bench.rows('SELECT disabled_at FROM tenants WHERE id = $1', [id])
    await tenants.updateTenant(call(), { id, settings: { disabled: true, liveKeyCap: 1 } })
    expect(await bench.rows('SELECT disabled_at FROM tenants WHERE id = $1', [id])).toEqual([first])
  })

  it('by two admins at once loses neither update, and each audit entry has the values that it replaced', async () => {
    const { id } = await newTenant()
    const holder = await bench.transaction()
    await holder.query('SELECT FROM tenants WHERE id = $1 FOR UPDATE', [id])
    const changes = [
      tenants.updateTenant(call(), { id, settings: { retentionHours: 1, newKeysPerMinute: 10 } }),
      tenants.updateTenant(call(), { id, settings: { liveKeyCap: 2, newKeysPerMinute: 20 } }),
    ]
    await bench.untilBlocked(2)
    await holder.query('COMMIT')
    holder.release()
    await Promise.all(changes)
    const detail = made(await tenants.showTenant(call(), { id }))
    expect(detail).toMatchObject({ retentionHours: 1, liveKeyCap: 2 })
    const [first, second] = (await entries(id)).slice(1) as { before: object; after: { newKeysPerMinute: number } }[]
    expect(first!.before).toMatchObject({ newKeysPerMinute: 600_000 })
    expect(second!.before).toMatchObject({ newKeysPerMinute: first!.after.newKeysPerMinute })
    expect(second!.after).toMatchObject({ newKeysPerMinute: detail.newKeysPerMinute })
  })

  it('to the name of another tenant is refused and writes nothing', async () => {
    const [one, other] = [await newTenant(), await newTenant()]
    const settings = { name: one.name, liveKeyCap: 3 }
    expect(await tenants.updateTenant(call(), { id: other.id, settings })).toMatchObject({ refused: 'already_exists' })
    expect(await tenants.showTenant(call(), { id: other.id })).toMatchObject(other)
    expect(await entries(other.id)).toHaveLength(1)
  })

  it('of a tenant that does not exist is refused as not_found', async () => {
    const id = 'ten_00000000000000000000000000'
    expect(await tenants.updateTenant(call(), { id, settings: { liveKeyCap: 3 } })).toEqual({ refused: 'not_found' })
    expect(await tenants.updateTenant(call(), { id, settings: {} })).toEqual({ refused: 'not_found' })
    expect(await tenants.showTenant(call(), { id })).toEqual({ refused: 'not_found' })
  })
})

describe('the list of tenants', () => {
  it('has every tenant once, newest first, page by page, with its counts of API keys and live keys', async () => {
    const own = await openBench()
    try {
      const listed = tenantUseCases(own.store, openGuard(own.store))
      const ids: string[] = []
      for (let count = 0; count < 5; count++)
        ids.unshift(made(await listed.createTenant(call(), { name: newName() })).id)
      // Made within a millisecond, two have no order.
      for (const [age, id] of ids.entries())
        await own.rows(`UPDATE tenants SET created_at = created_at - $2 * interval '1 s' WHERE id = $1`, [id, age])
      const [newest] = ids
      const { id } = made(await listed.createApiKey(call(), { tenantId: newest!, name: 'one' }))
      await listed.createApiKey(call(), { tenantId: newest!, name: 'other' })
      await listed.revokeApiKey(call(), { tenantId: newest!, id })
      await own.rows('INSERT INTO tenant_live_keys (tenant_id, count) VALUES ($1, 12)', [newest])
      const seen: string[] = []
      let after: Position | null = null
      do {
        const page: Listed<ListedTenant> = made(await listed.listTenants(call(), { limit: 2, after }))
        seen.push(...page.items.map((tenant) => tenant.id))
        if (!after) expect(page.items[0]).toMatchObject({ apiKeyCount: 1, liveKeyCount: 12 })
        after = page.next
      } while (after)
      expect(seen).toEqual(ids)
    } finally {
      await own.close()
    }
  })
})

describe('an API key', () => {
  it('has a secret that authenticates its tenant and is stored nowhere', async () => {
    const tenant = await newTenant()
    const key = made(await tenants.createApiKey(call(), { tenantId: tenant.id, name: 'checkout' }))
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      name: 'checkout',
      secret: expect.stringMatching(/^oo_live_[0-9a-f]{40}$/),
    })
    expect(await openAuthenticator(bench.store).authenticate(key.secret)).toMatchObject({ id: tenant.id })
    const everything = JSON.stringify([
      await bench.rows(`SELECT k.*, encode(hash, 'escape') FROM api_keys k`),
      await bench.rows('SELECT * FROM audit_entries'),
    ])
    expect(everything).not.toContain(key.secret)
    expect(JSON.stringify(await tenants.showTenant(call(), { id: tenant.id }))).not.toContain('hash')
    expect(await entries(key.id)).toEqual([entry('api_key.create', null, { tenantId: tenant.id, name: 'checkout' })])
  })

  it('is shown with its tenant, also after it is revoked', async () => {
    const tenant = await newTenant()
    const key = made(await tenants.createApiKey(call(), { tenantId: tenant.id, name: 'checkout' }))
    const shown = async () => made(await tenants.showTenant(call(), { id: tenant.id })).apiKeys
    const view = { id: key.id, name: 'checkout', createdAt: expect.any(String), revokedAt: null, lastUsedAt: null }
    expect(await shown()).toEqual([view])
    await tenants.revokeApiKey(call(), { tenantId: tenant.id, id: key.id })
    expect(await shown()).toEqual([{ ...view, revokedAt: expect.any(String) }])
  })

  it('authenticates no tenant after it is revoked; revoking it again writes nothing', async () => {
    const tenant = await newTenant()
    const key = made(await tenants.createApiKey(call(), { tenantId: tenant.id, name: 'checkout' }))
    const at = { tenantId: tenant.id, id: key.id, reason: 'It leaked.' }
    expect(await tenants.revokeApiKey(call(), at)).toBeNull()
    expect(await openAuthenticator(bench.store).authenticate(key.secret)).toBeNull()
    const revokedAt = () => bench.rows('SELECT revoked_at FROM api_keys WHERE id = $1', [key.id])
    const first = await revokedAt()
    expect(await tenants.revokeApiKey(call(), at)).toBeNull()
    expect(await revokedAt()).toEqual(first)
    expect((await entries(key.id)).slice(1)).toEqual([
      entry(
        'api_key.revoke',
        { tenantId: tenant.id, name: 'checkout', revokedAt: null },
        { revokedAt: expect.any(String) },
        'It leaked.',
      ),
    ])
  })

  it('can be revoked only under its own tenant', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    const key = made(await tenants.createApiKey(call(), { tenantId: tenant.id, name: 'checkout' }))
    expect(await tenants.revokeApiKey(call(), { tenantId: other.id, id: key.id })).toEqual({ refused: 'not_found' })
    expect(await openAuthenticator(bench.store).authenticate(key.secret)).not.toBeNull()
  })

  it('can’t be created for a tenant that does not exist', async () => {
    const tenantId = 'ten_00000000000000000000000000'
    expect(await tenants.createApiKey(call(), { tenantId, name: 'x' })).toEqual({ refused: 'not_found' })
  })

  it('is created with its tenant’s row locked before the audit log, so that a tenant change can’t deadlock with it', async () => {
    const { id: tenantId } = await newTenant()
    const holder = await bench.transaction()
    const rival = await bench.transaction()
    try {
      await holder.query('SELECT FROM audit_head FOR UPDATE')
      const creating = tenants.createApiKey(call(), { tenantId, name: 'x' })
      await bench.untilBlocked(1)
      const changing = rival.query('SELECT FROM tenants WHERE id = $1 FOR UPDATE NOWAIT', [tenantId])
      await expect(changing).rejects.toMatchObject({ code: '55P03' })
      await holder.query('ROLLBACK')
      made(await creating)
    } finally {
      for (const client of [holder, rival]) {
        await client.query('ROLLBACK')
        client.release()
      }
    }
  })

  it('is not created again when the same call is repeated, and its secret is not shown again', async () => {
    const { id: tenantId } = await newTenant()
    const again: Call = { ...call(), newId: () => 'key_00000000000000000000000001' }
    const { secret } = made(await tenants.createApiKey(again, { tenantId, name: 'x' }))
    expect(await tenants.createApiKey(again, { tenantId, name: 'x' })).toEqual({ refused: 'already_created' })
    expect(await bench.rows('SELECT hash FROM api_keys WHERE tenant_id = $1', [tenantId])).toEqual([
      { hash: hashSecret(secret) },
    ])
  })
})

describe('the audit log', () => {
  it('rolls the change back when its entry can’t be written', async () => {
    const tenant = await newTenant()
    const key = made(await tenants.createApiKey(call(), { tenantId: tenant.id, name: 'stays' }))
    // The head is what every entry is chained to: without it there can be none.
    const noHead = () =>
      bench.rows(`
        ALTER TABLE audit_head DISABLE TRIGGER USER;
        CREATE TABLE kept AS SELECT * FROM audit_head; DELETE FROM audit_head`)
    const store = before(bench.store, () => true, noHead)
    const unaudited = tenantUseCases(store, openGuard(store))
    const name = newName()
    try {
      await expect(unaudited.createTenant(call(), { name })).rejects.toThrow('no head')
      const settings = { liveKeyCap: 1 }
      await expect(unaudited.updateTenant(call(), { id: tenant.id, settings })).rejects.toThrow('no head')
      await expect(unaudited.createApiKey(call(), { tenantId: tenant.id, name: 'x' })).rejects.toThrow('no head')
      await expect(unaudited.revokeApiKey(call(), { tenantId: tenant.id, id: key.id })).rejects.toThrow('no head')
    } finally {
      await bench.rows(`
        INSERT INTO audit_head SELECT * FROM kept; DROP TABLE kept; ALTER TABLE audit_head ENABLE TRIGGER USER`)
    }
    expect(await bench.rows('SELECT FROM tenants WHERE name = $1', [name])).toHaveLength(0)
    const detail = made(await tenants.showTenant(call(), { id: tenant.id }))
    expect(detail.apiKeys).toEqual([expect.objectContaining({ id: key.id, revokedAt: null })])
  })

  it.each(ROLES.filter((role) => role !== 'admin'))(
    'records every refused attempt of a %s, and nothing else is written',
    async (role) => {
      const tenant = await newTenant()
      const { id, createdAt: _, ...settings } = tenant
      const by = call({ id: `opr_${role}`, name: 'Eve', role })
      const attempts = [
        tenants.listTenants(by, { limit: 1, after: null }),
        tenants.showTenant(by, { id }),
        tenants.createTenant(by, { ...settings, name: newName() }),
        tenants.updateTenant(by, { id, settings: { liveKeyCap: 1 } }),
        tenants.createApiKey(by, { tenantId: id, name: 'x' }),
        tenants.revokeApiKey(by, { tenantId: id, id: 'key_00000000000000000000000000' }),
      ]
      for (const attempt of await Promise.all(attempts)) expect(attempt).toMatchObject({ refused: 'forbidden' })
      expect(
        await bench.rows('SELECT action, outcome FROM audit_entries WHERE actor_id = $1 ORDER BY action', [
          `opr_${role}`,
        ]),
      ).toEqual(
        ['api_key.create', 'api_key.revoke', 'tenant.create', 'tenant.list', 'tenant.show', 'tenant.update'].map(
          (action) => ({ action, outcome: 'forbidden' }),
        ),
      )
      expect(made(await tenants.showTenant(call(), { id }))).toMatchObject({ ...tenant, apiKeys: [] })
    },
  )
})
