// Everything that the console reads, as its pages read it: every list, filter, sort and search, and what stands around
// them.
import type pg from 'pg'
import sql from 'sql-template-tag'
import { listAudit } from '../../lib/audit/read'
import { readAttention } from '../../lib/console/attention'
import { listDiscrepancies } from '../../lib/console/discrepancies'
import { findKeyDetail } from '../../lib/console/key-detail'
import { findNeighbours } from '../../lib/console/key-neighbours'
import { readKeyRows, watchKeys } from '../../lib/console/key-rows'
import { type KeyFilter, selectKeyIds } from '../../lib/console/keys-filter'
import { someKeys } from '../../lib/console/keys-order'
import { listMisuse } from '../../lib/console/misuse'
import { readMisuseSummary } from '../../lib/console/misuse-summary'
import { readBackground } from '../../lib/console/overview'
import { countStates } from '../../lib/console/state-counts'
import { hasHadKeys, readStateMap } from '../../lib/console/state-map'
import { readStats } from '../../lib/console/stats'
import { suggestValues } from '../../lib/console/suggest-values'
import { countUnknown } from '../../lib/console/unknown-count'
import { readUnknownQueue } from '../../lib/console/unknown-queue'
import type { Store } from '../../lib/db/store'
import { MAX_KEYS } from '../../lib/maintenance/bulk'
import { listRuns } from '../../lib/maintenance/run-history'
import { listShapes } from '../console/list-shapes'

export interface Read {
  what: string
  /** Adds up what stands beside the lists: it has more to do where there is more, up to a bound. */
  isSummary?: boolean
  read(store: Store): Promise<unknown>
}

const SETTINGS = { leaseSeconds: 60, gatewayTimeLimitSeconds: 10, retentionSeconds: 86_400 }

/** The same reads in the same order for any database, each about rows that it has. */
export async function consoleReads(db: pg.Pool): Promise<Read[]> {
  const shapes = await listShapes(db)
  const { rows } = await db.query<{ id: string; created_at: Date }>(
    `SELECT id, created_at FROM idempotency_records WHERE id = (SELECT max(record_id) FROM refunds)`,
  )
  const { id, created_at } = rows[0]!
  const place = { createdAt: created_at.toISOString(), id }
  const of = (what: string, read: Read['read']): Read => ({ what, read })
  const sum = (what: string, read: Read['read']): Read => ({ what, read, isSummary: true })
  const count =
    (filter: KeyFilter): Read['read'] =>
    (store) =>
      store.query(sql`SELECT count(*) FROM (${someKeys(filter, MAX_KEYS + 1)}) k`)
  const small = { tenant: 'ten_19' }
  return [
    ...shapes.map(({ name, filter, page }) => of(name, (store) => readKeyRows(store, { filter, ...page }))),
    of('one key', (store) => findKeyDetail(store, id)),
    of('its neighbours', (store) => findNeighbours(store, { filter: {}, ...place })),
    of('what is new on the page', (store) => watchKeys(store, { filter: {}, since: place, ids: [id] })),
    sum('how many match: all', count({})),
    sum('how many match: a small tenant’s completed', count({ ...small, state: ['completed'] })),
    sum('how many match: an error', count({ error: 'time' })),
    of('the ids for a bulk run', (store) => selectKeyIds(store, { state: ['completed'] }, MAX_KEYS)),
    sum('states, counted', (store) => countStates(store, {})),
    sum('states of a large tenant', (store) => countStates(store, { tenant: 'ten_00' })),
    sum('states of a small tenant', (store) => countStates(store, small)),
    sum('states of an endpoint', (store) => countStates(store, { endpoint: 'refunds' })),
    of('suggested tenants', (store) => suggestValues(store, { qualifier: 'tenant', typed: 't', filter: {} })),
    of('suggested errors', (store) => suggestValues(store, { qualifier: 'error', typed: '', filter: {} })),
    sum('the unknown, how many', (store) => countUnknown(store)),
    of('the queue of the unknown', (store) => readUnknownQueue(store, { order: 'next', maxLookUps: 12 })),
    of('the queue, oldest first', (store) => readUnknownQueue(store, { order: 'oldest', maxLookUps: 12 })),
    sum('overview: what needs attention', (store) => readAttention(store)),
    sum('overview: what stands behind it', (store) => readBackground(store)),
    sum('overview: the state map', (store) => readStateMap(store, { window: '24h' })),
    sum('overview: a tenant’s state map', (store) => readStateMap(store, { window: '24h', tenant: 'ten_00' })),
    sum('overview: the numbers', (store) => readStats(store, SETTINGS, { window: '1h' })),
    of('has there been a key', (store) => hasHadKeys(store)),
    of('misuse', (store) => listMisuse(store, { limit: 50, after: null })),
    of('misuse of a small tenant', (store) => listMisuse(store, { ...small, limit: 50, after: null })),
    sum('misuse, summed up', (store) => readMisuseSummary(store, { window: '24h' })),
    of('discrepancies', (store) => listDiscrepancies(store, { state: 'open', limit: 50, after: null })),
    of('audit log', (store) => listAudit(store, { limit: 50, after: null })),
    of('audit log of one key', (store) => listAudit(store, { target: id, limit: 50, after: null })),
    of('runs', (store) => listRuns(store, { kind: 'reaper' }, { limit: 50, after: null })),
  ]
}

/** What a busy month leaves beside the records, in proportion to them. */
export async function fillBesides(db: pg.Pool, records: number): Promise<void> {
  await db.query(
    `INSERT INTO misuse (id, at, tenant_id, endpoint, key, record_id, changed_paths, request_id)
     SELECT 'mis_' || g, now() - g * (interval '8 days' / $1), 'ten_' || lpad((g % 20)::text, 2, '0'), 'POST /api/orders',
       'key-' || g, 'idem_' || g % 1000, ARRAY['$.items[0].quantity'], 'req_' || g FROM generate_series(1, $1::int) g`,
    [Math.round(records / 100)],
  )
  await db.query(
    `INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, state, counts, sample, started_at, finished_at)
     SELECT 'run_' || g, (ARRAY['sweeper', 'reaper', 'reconciler'])[1 + g % 3], false, true, 'schedule', 'succeeded', '{}', '{}',
       now() - g * interval '1 min', now() - g * interval '1 min' FROM generate_series(1, $1::int) g`,
    [Math.round(records / 1000)],
  )
  await db.query(
    `INSERT INTO audit_entries (actor_id, actor_name, action, target, outcome, request_id)
     SELECT 'opr_' || g % 7, 'somebody', 'key.expire', 'idem_' || g, 'done', 'req_' || g FROM generate_series(1, $1::int) g`,
    [Math.round(records / 5000)],
  )
  await db.query('VACUUM (ANALYZE) misuse, runs, audit_entries')
}
