// Rates and the live-key cap over all nodes: a node holds its own traffic exactly, and the others' with at most a
// second's delay. Two `Limits` on one database are two nodes.
import sql from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { newId } from '../../lib/db/id'
import { StoreUnavailable } from '../../lib/db/sqlstate'
import { openStore, type Store } from '../../lib/db/store'
import type { Tenant } from '../../lib/tenants/authenticate'
import { type Limits, openLimits } from '../../lib/tenants/limits'
import { barrier, tampered } from '../support/boundary'
import { advance } from '../support/clock'
import { cloneDatabase } from '../support/database'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let store: Store
beforeAll(async () => {
  database = await cloneDatabase()
  store = openStore(database.url, { max: 10, applicationName: 'limits' })
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

let here: Limits
let there: Limits
let tenant: Tenant
beforeEach(() => {
  here = openLimits(store)
  there = openLimits(store)
  tenant = { id: newId('ten'), retentionHours: null, newKeysPerMinute: 5, liveKeyCap: 1000 }
})
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all([here.close(), there.close()])
})

/** What a node remembers of the others is too old from here on. */
const later = (ms = 1001) => advance('monotonic', ms)

/** One request: admitted or not, and whether it created a record. */
async function request(limits: Limits, created = true): Promise<string> {
  const admission = await limits.admit(tenant)
  if (admission.ok) limits.end(tenant, created)
  return admission.ok ? 'ok' : admission.limit
}

async function requests(limits: Limits, count: number, created = true): Promise<string[]> {
  const told: string[] = []
  for (let i = 0; i < count; i++) told.push(await request(limits, created))
  return told
}

const shared = async (kind = 'new_key') => {
  const [row] = await store.query<{ count: number }>(sql`
    SELECT coalesce(sum(count), 0)::int AS count FROM tenant_usage WHERE tenant_id = ${tenant.id} AND kind = ${kind}`)
  return row!.count
}
const untilShared = (count: number, kind?: string) =>
  vi.waitFor(async () => expect(await shared(kind)).toBe(count), { timeout: 30_000 })

const ok = (count: number) => Array<string>(count).fill('ok')

describe('the rate limit of new keys', () => {
  it('is exact on the node that gets the requests', async () => {
    expect(await requests(here, 7)).toEqual([...ok(5), 'rate', 'rate'])
  })

  it('is exact for concurrent requests', async () => {
    const admissions = await Promise.all(Array.from({ length: 30 }, () => here.admit(tenant)))
    expect(admissions.filter((admission) => admission.ok)).toHaveLength(5)
  })

  it('counts only requests that created a record', async () => {
    expect(await requests(here, 20, false)).toEqual(ok(20))
    expect(await requests(here, 6)).toEqual([...ok(5), 'rate'])
  })

  it('reserves a slot for a running request until the request ends', async () => {
    for (let i = 0; i < 5; i++) expect(await here.admit(tenant)).toEqual({ ok: true })
    expect(await here.admit(tenant)).toMatchObject({ ok: false })
    here.end(tenant, false)
    expect(await here.admit(tenant)).toEqual({ ok: true })
    for (let i = 0; i < 5; i++) here.end(tenant, true)
    expect(await request(here)).toBe('rate')
  })

  it('applies on a node that has just started', async () => {
    expect(await requests(here, 5)).toEqual(ok(5))
    await untilShared(5)
    expect(await request(there)).toBe('rate')
  })

  it('applies on another running node after one second', async () => {
    expect(await request(there, false)).toBe('ok')
    expect(await requests(here, 5)).toEqual(ok(5))
    await untilShared(5)
    later()
    expect(await request(there)).toBe('rate')
  })

  it('is shared by two nodes: together they admit no more than the limit', async () => {
    expect(await requests(here, 3)).toEqual(ok(3))
    await untilShared(3)
    expect(await requests(there, 3)).toEqual([...ok(2), 'rate'])
    await untilShared(5)
    later()
    expect(await request(here)).toBe('rate')
  })

  it('refuses with a retry time of at most a minute', async () => {
    await requests(here, 5)
    const refusal = await here.admit(tenant)
    expect(refusal).toMatchObject({ ok: false, limit: 'rate' })
    const { afterSeconds } = refusal as { afterSeconds: number }
    expect(afterSeconds).toBeGreaterThanOrEqual(1)
    expect(afterSeconds).toBeLessThanOrEqual(60)
  })

  it('admits requests again when a minute has passed', async () => {
    await requests(here, 5)
    await untilShared(5)
    await store.query(sql`
      UPDATE tenant_usage SET second = second - interval '61 s' WHERE tenant_id = ${tenant.id}`)
    later()
    expect(await request(here)).toBe('ok')
  })

  it('admits requests again after the retry time, on a node that has not read the usage since', async () => {
    await requests(here, 5)
    await untilShared(5)
    expect(await request(here)).toBe('rate')
    const refusal = (await here.admit(tenant)) as { afterSeconds: number }
    await store.query(sql`DELETE FROM tenant_usage WHERE tenant_id = ${tenant.id}`)
    later(refusal.afterSeconds * 1000)
    expect(await request(here)).toBe('ok')
  })

  it('of zero admits nothing', async () => {
    tenant = { ...tenant, newKeysPerMinute: 0 }
    expect(await request(here)).toBe('rate')
  })

  it('is separate for each tenant', async () => {
    await requests(here, 5)
    tenant = { ...tenant, id: newId('ten') }
    expect(await request(here)).toBe('ok')
  })

  it('counts every request when many nodes write their counts at once', async () => {
    tenant = { ...tenant, newKeysPerMinute: 100_000, liveKeyCap: 100_000 }
    const nodes = Array.from({ length: 8 }, () => openLimits(store))
    await Promise.all(nodes.map((node) => requests(node, 50)))
    await Promise.all(nodes.map((node) => node.close()))
    expect(await shared()).toBe(400)
    const live = await store.query(sql`SELECT count::int FROM tenant_live_keys WHERE tenant_id = ${tenant.id}`)
    expect(live).toEqual([{ count: 400 }])
  })

  it('ignores and deletes usage that is older than the window', async () => {
    await store.query(sql`
      INSERT INTO tenant_usage (tenant_id, kind, second, count)
      VALUES (${tenant.id}, 'new_key', clock_timestamp() - interval '10 min', 1000)`)
    expect(await request(here)).toBe('ok')
    await untilShared(1)
  })
})

describe('the cap of live keys', () => {
  beforeEach(() => {
    tenant = { ...tenant, newKeysPerMinute: 1000, liveKeyCap: 3 }
  })

  it('applies on the node that gets the requests', async () => {
    expect(await requests(here, 5)).toEqual([...ok(3), 'live_keys', 'live_keys'])
    expect(await here.admit(tenant)).toMatchObject({ afterSeconds: expect.any(Number) })
  })

  it('applies across all nodes', async () => {
    expect(await requests(here, 2)).toEqual(ok(2))
    await untilShared(2)
    expect(await requests(there, 2)).toEqual(['ok', 'live_keys'])
  })

  it('does not reset after a minute, only when there are fewer live keys', async () => {
    await requests(here, 3)
    await untilShared(3)
    await store.query(sql`DELETE FROM tenant_usage WHERE tenant_id = ${tenant.id}`)
    later(61_000)
    expect(await request(here)).toBe('live_keys')
    await store.query(sql`UPDATE tenant_live_keys SET count = count - 1 WHERE tenant_id = ${tenant.id}`)
    later()
    expect(await request(here)).toBe('ok')
  })

  it('is not affected by requests that create no record', async () => {
    expect(await requests(here, 10, false)).toEqual(ok(10))
    expect(await requests(here, 3)).toEqual(ok(3))
  })
})

describe('the rate limit of lookups', () => {
  const lookUp = async (limits: Limits) => (await limits.takeLookUp(tenant.id, 5)).ok

  it('applies across all nodes and counts each lookup', async () => {
    for (let i = 0; i < 5; i++) expect(await lookUp(here)).toBe(true)
    expect(await lookUp(here)).toBe(false)
    await untilShared(5, 'look_up')
    expect(await lookUp(there)).toBe(false)
  })

  it('is independent of the rate limit of new keys', async () => {
    for (let i = 0; i < 5; i++) await lookUp(here)
    expect(await requests(here, 5)).toEqual(ok(5))
    expect(await lookUp(here)).toBe(false)
  })
})

describe('tenant limits with an unreachable store', () => {
  it('fail with a store error instead of admitting a request', async () => {
    const gone = openLimits(tampered(store, () => Promise.reject(new StoreUnavailable(null))))
    await expect(gone.admit(tenant)).rejects.toBeInstanceOf(StoreUnavailable)
  })

  it('write the requests counted meanwhile when the store is back', async () => {
    let lost = false
    let refused = 0
    const limits = openLimits(
      tampered(store, (send) => {
        if (!lost) return send()
        refused++
        throw new StoreUnavailable(null)
      }),
    )
    expect(await request(limits)).toBe('ok')
    // however slow this machine is, what was read of the others stays fresh
    vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    lost = true
    expect(await requests(limits, 2)).toEqual(ok(2))
    await vi.waitFor(() => expect(refused).toBeGreaterThan(0), { timeout: 30_000 })
    lost = false
    await untilShared(3)
  })
})

describe('tenant limits of a node that stops', () => {
  it('write their counts to the store before the node ends', async () => {
    await requests(here, 4)
    await here.close()
    expect(await shared()).toBe(4)
  })

  it('write requests that were counted during the last write, too', async () => {
    const sharing = barrier()
    let held = false
    const limits = openLimits(
      tampered(store, async (send, statement) => {
        const counts = statement.values.includes(2)
        if (counts && !held) {
          held = true
          await sharing.pass()
        }
        return send()
      }),
    )
    await requests(limits, 2)
    await sharing.reached
    await requests(limits, 1)
    const closing = limits.close()
    sharing.open()
    await closing
    expect(await shared()).toBe(3)
  })
})
