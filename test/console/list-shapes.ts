// Every shape of the operators' list, and the indexes that are meant to answer it. One list for the test of the plans and
// for the measurement at a million rows.
import type pg from 'pg'
import type { KeyFilter } from '../../lib/console/keys-filter'
import type { KeyPage, KeyPosition, KeySort } from '../../lib/console/keys-order'

export interface Shape {
  name: string
  filter: KeyFilter
  page: KeyPage
  /** Each of these is walked. */
  indexes: readonly string[]
}

const PRIMARY = 'idempotency_records_pkey'
const RUNNING = ['records_accepted', 'records_leases']
const ALL = ['records_by_endpoint', ...RUNNING, PRIMARY]
const OF_TENANT = ['records_by_tenant', ...RUNNING, PRIMARY]
const KEY = 'idempotency_records_tenant_id_endpoint_key_key'

export async function listShapes(db: Pick<pg.Pool, 'query'>): Promise<Shape[]> {
  const one = async <Row>(text: string) => (await db.query(text)).rows[0] as Row
  const middle = await one<{ id: string; created_at: Date }>(
    `SELECT id, created_at FROM idempotency_records WHERE id >= (
       SELECT percentile_disc(0.7) WITHIN GROUP (ORDER BY id) FROM idempotency_records) ORDER BY id LIMIT 1`,
  )
  const known = await one<{ key: string; record: string; order: string; refund: string; request: string; ref: string }>(
    `SELECT r.key, r.id AS record, f.order_id AS order, f.id AS refund, r.request_id AS request, l.provider_ref AS ref
     FROM refunds f JOIN idempotency_records r ON r.id = f.record_id JOIN ledger_entries l ON l.record_id = r.id
     WHERE r.state = 'completed' LIMIT 1`,
  )
  const from = (value: KeyPosition['value']): KeyPosition => ({
    value,
    createdAt: middle.created_at.toISOString(),
    id: middle.id,
  })
  const page = (sort: KeySort = '-createdAt', after: KeyPosition | null = null): KeyPage => ({ sort, after, limit: 50 })
  const large = { tenant: 'ten_00' }
  const small = { tenant: 'ten_19' }
  const soon = new Date(Date.now() + 60_000).toISOString()
  const unknown = ['records_to_reconcile', 'records_unsettled']
  const shapes: [string, KeyFilter, KeyPage, readonly string[]][] = [
    ['all, newest first', {}, page(), ALL],
    ['all, a page far back', {}, page('-createdAt', from(null)), ALL],
    ['all, oldest first', {}, page('createdAt'), ALL],
    ['all, oldest first, far on', {}, page('createdAt', from(null)), ALL],
    ['completed', { state: ['completed'] }, page(), ['records_by_endpoint', PRIMARY]],
    ['expired', { state: ['expired'] }, page(), ['records_by_endpoint', PRIMARY]],
    ['unknown', { state: ['unknown'] }, page(), ['records_by_endpoint', PRIMARY]],
    ['pending and in progress', { state: ['pending', 'in_progress'] }, page(), ALL],
    ['a large tenant', large, page(), OF_TENANT],
    ['a small tenant', small, page(), OF_TENANT],
    ['a small tenant by name, far back', { tenant: 'tenant 19' }, page('-createdAt', from(null)), OF_TENANT],
    ['nobody’s', { tenant: 'nobody' }, page(), OF_TENANT],
    ['refunds', { endpoint: 'refunds' }, page(), ALL],
    [
      'a tenant’s completed refunds',
      { ...large, state: ['completed'], endpoint: 'refunds' },
      page(),
      ['records_by_tenant', PRIMARY],
    ],
    ['three days old', { minAgeSeconds: 3 * 86_400 }, page(), ALL],
    ['dead letters', { deadLettered: true }, page(), ['records_unsettled', PRIMARY]],
    ['no dead letters', { deadLettered: false }, page(), ALL],
    ['an error', { error: 'time' }, page(), ['records_by_error', PRIMARY]],
    ['an error, by replays', { error: 'time' }, page('-replayCount'), ['records_by_error', PRIMARY]],
    ['by lease', {}, page('-lockedUntil'), ALL],
    ['by lease, those without', {}, page('-lockedUntil', from(null)), ALL],
    ['by next look-up', {}, page('reconcileAfter'), [...unknown, ...ALL]],
    ['by next look-up, the next page', {}, page('reconcileAfter', from(soon)), [...unknown, ...ALL]],
    ['by next look-up, those without', {}, page('reconcileAfter', from(null)), ALL],
    ['by replays', {}, page('-replayCount'), ['records_replayed', ...ALL]],
    ['by replays, far down', {}, page('-replayCount', from(1)), ['records_replayed', ...ALL]],
    ['by replays, those without', {}, page('-replayCount', from(null)), ALL],
    ['by replays, of a small tenant', small, page('-replayCount'), ['records_replayed', ...OF_TENANT]],
    ['a key', { q: known.key }, page(), [KEY, PRIMARY]],
    ['keys that begin alike', { q: 'invoice-0000' }, page(), [KEY, PRIMARY]],
    ['a tenant’s keys that begin alike', { ...large, q: 'invoice-', state: ['completed'] }, page(), [KEY, PRIMARY]],
    ['a record', { q: known.record }, page(), [PRIMARY]],
    ['any record', { q: 'idem_' }, page('-replayCount'), [PRIMARY]],
    ['an order', { q: known.order }, page(), ['orders_pkey', 'refunds_order_id_idx', PRIMARY]],
    ['any order', { q: 'ord' }, page(), ['orders_pkey', 'refunds_order_id_idx', PRIMARY]],
    ['a refund', { q: known.refund }, page(), ['refunds_pkey', PRIMARY]],
    ['a provider’s reference', { q: known.ref }, page(), ['ledger_entries_provider_ref_key', PRIMARY]],
    ['any reference', { q: 'ch_' }, page(), ['ledger_entries_provider_ref_key', PRIMARY]],
    ['a request', { q: known.request }, page(), ['records_request_id', ...RUNNING, PRIMARY]],
    ['any request', { q: 'req_' }, page('reconcileAfter'), ['records_request_id', ...RUNNING, PRIMARY]],
    ['nothing like it', { q: 'nothing like it' }, page(), [KEY, PRIMARY]],
  ]
  return shapes.map(([name, filter, of, indexes]) => ({ name, filter, page: of, indexes }))
}

export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  Plans?: PlanNode[]
}

export const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Of what grows with traffic, and would be read as a whole. */
export const seqScansOf = (plan: PlanNode): string[] =>
  nodesOf(plan)
    .filter((node) => node['Node Type'] === 'Seq Scan')
    .map((node) => node['Relation Name'] ?? '')
    .filter((table) => ['idempotency_records', 'orders', 'refunds', 'ledger_entries'].includes(table))

export const indexesOf = (plan: PlanNode): string[] => [
  ...new Set(nodesOf(plan).flatMap((node) => (node['Index Name'] ? [node['Index Name']] : []))),
]
