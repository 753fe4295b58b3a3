// Reserve: the first request for a key becomes its owner, in one transaction with what its operation begins. Every other one
// is refused by the unique index, and reads what it found.
import sql from 'sql-template-tag'
import { rowsOf } from '../../db/arrays'
import type { Store, Tx } from '../../db/store'
import type { AnyOperation, Beginning, Input } from '../operation'
import { type KeyRecord, RECORD_COLUMNS, type RecordRow, toRecord } from '../record'
import { entryOf, eventOf, NOW } from './event'
import type { Through } from './transition'

export interface Reservation extends Omit<Beginning<unknown>, 'createdAt' | 'first' | 'number'> {
  endpoint: string
  key: string
  fingerprint: string
  requestId: string
  retentionSeconds: number
  leaseMs: number
  settleMs: number
  nodeId: string
  /** The phase that the reservation enters; null for one that waits for a worker. */
  phase: { name: string; external: boolean } | null
  /** The job of one that waits for a worker; it commits with the reservation. */
  enqueue?: (tx: Tx, recordId: string) => Promise<void>
  /** False where the tenant is at a limit: an existing record is still found, none is created. */
  mayCreate: boolean
}

export interface Created {
  kind: 'created'
  record: KeyRecord
  report: unknown
}

export type Reserved =
  | Created
  /** `stored`: what the key stands for, where that is another request and not erased yet. */
  | { kind: 'existing'; record: KeyRecord; stored: Input | null }
  | { kind: 'not_allowed' }

/** Of an operation, what reserving needs. */
export type Begins = Pick<AnyOperation, 'batched' | 'begin'>

/** With its event as it is stored. */
export type Reserving = Reservation & { event: string }

export const reserving = (r: Reservation): Reserving => ({
  ...r,
  event: eventOf({
    event: r.phase ? 'reserved' : 'accepted',
    by: r.nodeId,
    requestId: r.requestId,
    ...(r.phase ? { attempt: 1, recoveryPoint: r.phase.name } : {}),
  }),
})

export async function reserve(
  through: Pick<Through, 'step' | 'batches'> & { store: Pick<Store, 'query' | 'transaction'> },
  operation: Begins,
  r: Reservation,
): Promise<Reserved> {
  if (r.mayCreate) {
    const item = reserving(r)
    const created =
      operation.batched && through.batches
        ? await through.batches.reserve(operation, item)
        : (await through.store.transaction((tx) => reserveIn(tx, operation, [item])))[0]
    if (created) return created
    await through.step?.('taken')
  }
  const found = await findRival(through.store, r)
  if (found) return found
  // Refused by a row that was deleted before it could be read: the key is free, and the next try will say so.
  return r.mayCreate ? reserve(through, operation, r) : { kind: 'not_allowed' }
}

/** In the order of the items; null where the key is taken, by a record that was committed before. */
export async function reserveIn(tx: Tx, operation: Begins, items: readonly Reserving[]): Promise<(Created | null)[]> {
  const rows = await tx.query<{ id: string; createdAt: Date; expiresAt: Date }>(sql`
    INSERT INTO idempotency_records (
      id, tenant_id, endpoint, key, fingerprint, state, async, attempt, recovery_point, external,
      locked_until, locked_by, settles_at, request, request_id, resource_type, resource_id,
      retention_seconds, created_at, expires_at, in_doubt, timeline)
    SELECT s.id, s.tenant_id, s.endpoint, s.key, s.fingerprint,
      CASE WHEN s.leased THEN 'in_progress' ELSE 'pending' END::record_state, NOT s.leased, s.leased::int,
      s.phase, s.external,
      CASE WHEN s.leased THEN now.at + s.lease_ms * interval '1 ms' END, CASE WHEN s.leased THEN s.node_id END,
      CASE WHEN s.leased THEN now.at + (s.lease_ms + s.settle_ms) * interval '1 ms' END,
      s.request, s.request_id, s.resource_type, s.resource_id,
      s.retention_seconds, now.at, now.at + s.retention_seconds * interval '1 s', false, ${entryOf(sql`s.event`)}
    FROM ${rowsOf('s', items, {
      id: ['text', ({ recordId }) => recordId],
      tenant_id: ['text', ({ tenantId }) => tenantId],
      endpoint: ['text', ({ endpoint }) => endpoint],
      key: ['text', ({ key }) => key],
      fingerprint: ['text', ({ fingerprint }) => fingerprint],
      leased: ['boolean', ({ phase }) => phase !== null],
      phase: ['text', ({ phase }) => phase?.name ?? null],
      external: ['boolean', ({ phase }) => phase?.external ?? false],
      lease_ms: ['float8', ({ leaseMs }) => leaseMs],
      settle_ms: ['float8', ({ settleMs }) => settleMs],
      node_id: ['text', ({ nodeId }) => nodeId],
      request: ['text', ({ input }) => JSON.stringify(input)],
      request_id: ['text', ({ requestId }) => requestId],
      resource_type: ['text', ({ resource }) => resource.type],
      resource_id: ['text', ({ resource }) => resource.id],
      retention_seconds: ['float8', ({ retentionSeconds }) => retentionSeconds],
      event: ['text', ({ event }) => event],
    })}, ${NOW}
    ON CONFLICT (tenant_id, endpoint, key) DO NOTHING
    RETURNING id, created_at AS "createdAt", expires_at AS "expiresAt"`)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const created = items.flatMap((item) => {
    const row = byId.get(item.recordId)
    return row ? [{ item, row }] : []
  })
  if (created.length === 0) return items.map(() => null)
  const reports = await operation.begin?.(
    tx,
    created.map(({ item: { recordId, tenantId, resource, input, phase }, row: { createdAt } }) => ({
      recordId,
      tenantId,
      resource,
      input,
      createdAt,
      number: phase ? 1 : 0,
      first: true,
    })),
  )
  for (const { item } of created) await item.enqueue?.(tx, item.recordId)
  const made = new Map(
    created.map(({ item, row }, i) => [
      item,
      { kind: 'created' as const, record: createdRecord(item, row), report: reports?.[i] },
    ]),
  )
  return items.map((item) => made.get(item) ?? null)
}

/** As it was written: nothing else has touched it yet, or only what has a later attempt. */
function createdRecord(r: Reservation, { createdAt, expiresAt }: { createdAt: Date; expiresAt: Date }): KeyRecord {
  const { recordId: id, tenantId, endpoint, key, fingerprint, phase, resource } = r
  return {
    id,
    tenantId,
    endpoint,
    key,
    fingerprint,
    state: phase ? 'in_progress' : 'pending',
    async: !phase,
    attempt: phase ? 1 : 0,
    version: 1,
    recoveryPoint: phase?.name ?? null,
    effectEvidence: false,
    moneyDiffers: false,
    inDoubt: false,
    lookUp: { until: expiresAt, isPast: false, progress: null },
    leaseLeftMs: phase ? r.leaseMs : null,
    reconcileInMs: null,
    beingAsked: false,
    pastExpiry: false,
    answer: null,
    responseStatus: null,
    resource,
    createdAt,
    completedAt: null,
    expiresAt,
  }
}

/**
 * What the key stands for, in a statement of its own: a reservation that the unique index refused lost to a row that its own
 * snapshot may be too old to show, and this one's is not. Another request's body is read only to say where it differs.
 */
async function findRival(store: Pick<Store, 'query'>, r: Reservation): Promise<Reserved | null> {
  const [row] = await store.query<RecordRow & { stored: string | null }>(sql`
    SELECT ${RECORD_COLUMNS}, CASE WHEN r.fingerprint <> ${r.fingerprint} THEN r.request END AS stored
    FROM idempotency_records r
    WHERE r.tenant_id = ${r.tenantId} AND r.endpoint = ${r.endpoint} AND r.key = ${r.key}`)
  if (!row) return null
  return { kind: 'existing', record: toRecord(row), stored: row.stored === null ? null : JSON.parse(row.stored) }
}
