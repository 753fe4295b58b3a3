// Rates and the live-key cap, over all nodes. A node counts what it does itself at once and shares its counts with
// the others in batches, so its own traffic is held exactly and the others' with at most a second's delay. Nothing
// is written on the way of a single request: a counter row that each reservation locked would serialise them all.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Tenant } from './authenticate'

type Counted = 'new_key' | 'look_up'

/** What others counted is read again after this long, and what we counted is shared within it. */
const SHARE_AFTER_MS = 500
const WINDOW_SECONDS = 60
/** A reservation is one statement. Who can't be told yes or no by then is told no. */
const DECIDED_WITHIN_MS = 1000

interface View {
  /** Shared by all nodes, by age in seconds when it was read. */
  shared: { ageSeconds: number; count: number }[]
  liveKeys: number
  readAtMs: number
  /** Counted here since, not shared yet. */
  unshared: number
  /** Admitted here and not decided yet: whether it will count is not known. */
  underWay: number
  /** Who can't be told yes or no before one of those under way is decided. */
  undecided: Set<() => void>
  reading: Promise<void> | null
  sharing: NodeJS.Timeout | null
}

export type Admission = { ok: true } | { ok: false; limit: 'rate' | 'live_keys'; afterSeconds: number }

export interface Limits {
  /** May this tenant create another record? An admission is to be ended with whether it did: only that counts. */
  admit(tenant: Tenant): Promise<Admission>
  end(tenant: Tenant, created: boolean): void
  /** Takes one look-up, if there is one left. */
  takeLookUp(tenantId: string, perMinute: number): Promise<Admission>
  close(): Promise<void>
}

export function openLimits(store: Store): Limits {
  const views = new Map<string, View>()

  function viewOf(tenantId: string, kind: Counted): View {
    const name = `${tenantId} ${kind}`
    let view = views.get(name)
    if (!view) {
      view = {
        shared: [],
        liveKeys: 0,
        readAtMs: Number.NEGATIVE_INFINITY,
        unshared: 0,
        underWay: 0,
        undecided: new Set(),
        reading: null,
        sharing: null,
      }
      views.set(name, view)
    }
    return view
  }

  async function share(tenantId: string, kind: Counted, view: View): Promise<void> {
    const counts = view.unshared
    const live = kind === 'new_key' ? counts : 0
    const [row] = await store.query<{ shared: View['shared'] | null; live: string | null }>(sql`
      WITH added AS (
        INSERT INTO tenant_usage (tenant_id, kind, second, count)
        SELECT ${tenantId}, ${kind}, date_trunc('second', clock_timestamp()), ${counts}::int WHERE ${counts}::int > 0
        ON CONFLICT (tenant_id, kind, second) DO UPDATE SET count = tenant_usage.count + excluded.count
      ), live AS (
        INSERT INTO tenant_live_keys (tenant_id, count) SELECT ${tenantId}, ${live}::int WHERE ${live}::int > 0
        ON CONFLICT (tenant_id) DO UPDATE SET count = tenant_live_keys.count + excluded.count
      ), gone AS (
        DELETE FROM tenant_usage
        WHERE tenant_id = ${tenantId} AND kind = ${kind} AND second < clock_timestamp() - interval '5 minutes'
      )
      SELECT
        (SELECT json_agg(json_build_object('ageSeconds', extract(epoch FROM clock_timestamp() - second), 'count', count))
         FROM tenant_usage WHERE tenant_id = ${tenantId} AND kind = ${kind}
           AND second > clock_timestamp() - ${WINDOW_SECONDS}::int * interval '1 s') AS shared,
        (SELECT count FROM tenant_live_keys WHERE tenant_id = ${tenantId}) AS live`)
    // the statement reads what was there before it added: our own counts are put on top
    const before = row?.shared ?? []
    view.shared = counts > 0 ? [...before, { ageSeconds: 0, count: counts }] : before
    view.liveKeys = Number(row?.live ?? 0) + live
    view.unshared -= counts
    view.readAtMs = performance.now()
  }

  function refresh(tenantId: string, kind: Counted, view: View): Promise<void> {
    view.reading ??= share(tenantId, kind, view).finally(() => {
      view.reading = null
    })
    return view.reading
  }

  function count(tenantId: string, kind: Counted, view: View): void {
    view.unshared++
    shareSoon(tenantId, kind, view)
  }

  function shareSoon(tenantId: string, kind: Counted, view: View): void {
    view.sharing ??= setTimeout(() => {
      view.sharing = null
      // a store that is gone takes the counts later
      refresh(tenantId, kind, view).catch(() => shareSoon(tenantId, kind, view))
    }, SHARE_AFTER_MS).unref()
  }

  function rate(view: View, perMinute: number, underWay = 0): Admission {
    const sinceReadSeconds = (performance.now() - view.readAtMs) / 1000
    let used = view.unshared + underWay
    let oldestSeconds = 0
    for (const { ageSeconds, count } of view.shared) {
      const age = ageSeconds + sinceReadSeconds
      if (age >= WINDOW_SECONDS) continue
      used += count
      oldestSeconds = Math.max(oldestSeconds, age)
    }
    if (used < perMinute) return { ok: true }
    return { ok: false, limit: 'rate', afterSeconds: Math.max(1, Math.ceil(WINDOW_SECONDS - oldestSeconds)) }
  }

  function admission(view: View, tenant: Tenant, underWay: number): Admission {
    if (view.liveKeys + view.unshared + underWay >= tenant.liveKeyCap)
      return { ok: false, limit: 'live_keys', afterSeconds: 60 }
    return rate(view, tenant.newKeysPerMinute, underWay)
  }

  /** Ends when one of those under way is decided, or after `limitMs`. */
  function decision(view: View, limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const decided = () => {
        clearTimeout(timer)
        view.undecided.delete(decided)
        resolve()
      }
      const timer = setTimeout(decided, limitMs)
      view.undecided.add(decided)
    })
  }

  async function freshView(tenantId: string, kind: Counted): Promise<View> {
    const view = viewOf(tenantId, kind)
    if (performance.now() - view.readAtMs > 2 * SHARE_AFTER_MS) await refresh(tenantId, kind, view)
    return view
  }

  return {
    async admit(tenant) {
      // What is left may be spoken for by this very key: refused at once, a duplicate would get 429 for a record that
      // is there a moment later.
      const giveUpAt = performance.now() + DECIDED_WITHIN_MS
      for (;;) {
        const view = await freshView(tenant.id, 'new_key')
        const now = admission(view, tenant, view.underWay)
        if (now.ok) view.underWay++
        const leftMs = giveUpAt - performance.now()
        if (now.ok || leftMs <= 0 || !admission(view, tenant, 0).ok) return now
        await decision(view, leftMs)
      }
    },
    end(tenant, created) {
      const view = viewOf(tenant.id, 'new_key')
      view.underWay--
      if (created) count(tenant.id, 'new_key', view)
      for (const decided of view.undecided) decided()
    },
    async takeLookUp(tenantId, perMinute) {
      const view = await freshView(tenantId, 'look_up')
      const admission = rate(view, perMinute)
      if (admission.ok) count(tenantId, 'look_up', view)
      return admission
    },
    async close() {
      for (const [name, view] of views) {
        if (view.sharing) clearTimeout(view.sharing)
        const [tenantId, kind] = name.split(' ') as [string, Counted]
        // what is being shared already does not have what was counted since
        await view.reading?.catch(() => {})
        if (view.unshared > 0) await refresh(tenantId, kind, view).catch(() => {})
      }
    },
  }
}
