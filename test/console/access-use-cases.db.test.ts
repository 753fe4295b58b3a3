import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessViews } from '../../lib/console/access-use-cases'
import { callOf } from '../../lib/operators/actor'
import { isRefused } from '../../lib/operators/refusal'
import { openGuard } from '../../lib/operators/use-case'
import { by, openStaff, type Staff } from '../operators/staff'
import { insertInto } from '../support/rows'

const VERA = callOf({ id: 'opr_vera', name: 'Vera', role: 'viewer' }, 'req_vera')
const PAGE = { limit: 10, after: null }

let staff: Staff
let views: ReturnType<typeof accessViews>

beforeAll(async () => {
  staff = await openStaff()
  views = accessViews(staff.store, openGuard(staff.store))
})
afterAll(() => staff?.close())

function told<T>(result: T): Exclude<T, { refused: unknown }> {
  if (isRefused(result)) throw new Error(result.refused)
  return result as Exclude<T, { refused: unknown }>
}

describe('a viewer', () => {
  it('sees operators by name and role, without addresses and sessions', async () => {
    const person = await staff.add('operator')
    const { items } = told(await views.seeOperators(VERA, PAGE))
    const seen = items.find(({ id }) => id === person.id)
    expect(seen).toEqual({
      id: person.id,
      name: person.name,
      role: 'operator',
      disabled: false,
      createdAt: expect.any(String),
    })
  })

  it('sees tenants with limits and API keys, without key hashes', async () => {
    await insertInto(staff.db, 'tenants', { id: 'ten_acme', name: 'acme', new_keys_per_minute: 50 })
    await insertInto(staff.db, 'api_keys', {
      id: 'key_1',
      tenant_id: 'ten_acme',
      name: 'checkout',
      hash: Buffer.alloc(32),
    })
    await staff.rows(`INSERT INTO tenant_usage VALUES ('ten_acme', 'new_key', now(), 3),
      ('ten_acme', 'new_key', now() - interval '2 minutes', 9), ('ten_acme', 'look_up', now(), 9)`)
    const tenant = told(await views.seeTenant(VERA, { id: 'ten_acme' }))
    expect(tenant).toMatchObject({ name: 'acme', newKeysPerMinute: 50, apiKeyCount: 1, newKeysLastMinute: 3 })
    expect(Object.keys(tenant.apiKeys[0]!).sort()).toEqual(['createdAt', 'id', 'lastUsedAt', 'name', 'revokedAt'])
    expect(told(await views.seeTenants(VERA, PAGE)).items.map(({ name }) => name)).toContain('acme')
    expect(told(await views.tenantNames(VERA, { ids: ['ten_acme', 'ten_gone'] }))).toEqual(
      new Map([['ten_acme', 'acme']]),
    )
    expect(await views.seeTenant(VERA, { id: 'ten_gone' })).toMatchObject({ refused: 'not_found' })
  })

  it('is refused the last sign-in times that an admin sees, and the attempt is audited', async () => {
    const person = await staff.add('viewer')
    await staff.session(person)
    const guessed = await staff.add('viewer')
    await staff.signIn({ ...guessed, password: 'a wrong guess' })
    const ids = [person.id, guessed.id, 'opr_nobody']
    expect(told(await views.lastSignIns(by(), { ids }))).toEqual(new Map([[person.id, expect.any(String)]]))
    expect(await views.lastSignIns(VERA, { ids })).toMatchObject({ refused: 'forbidden' })
    expect(await staff.rows(`SELECT outcome FROM audit_entries WHERE actor_id = 'opr_vera'`)).toEqual([
      { outcome: 'forbidden' },
    ])
  })
})
