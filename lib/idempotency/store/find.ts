// Reading a record without doing anything about it.
import sql from 'sql-template-tag'
import type { Store } from '../../db/store'
import type { Input } from '../operation'
import { type KeyRecord, RECORD_COLUMNS, type RecordRow, toRecord } from '../record'

export async function findByKey(
  store: Store,
  at: { tenantId: string; endpoint: string; key: string },
): Promise<KeyRecord | null> {
  const [row] = await store.query<RecordRow>(sql`
    SELECT ${RECORD_COLUMNS} FROM idempotency_records r
    WHERE r.tenant_id = ${at.tenantId} AND r.endpoint = ${at.endpoint} AND r.key = ${at.key}`)
  return row ? toRecord(row) : null
}

/** With the stored request, for whoever works on a record without its client. */
export async function findWithRequest(
  store: Pick<Store, 'query'>,
  recordId: string,
): Promise<{ record: KeyRecord; input: Input; requestId: string } | null> {
  const [row] = await store.query<RecordRow & { request: string | null; request_id: string }>(sql`
    SELECT ${RECORD_COLUMNS}, r.request, r.request_id FROM idempotency_records r WHERE r.id = ${recordId}`)
  if (!row?.request) return null
  return { record: toRecord(row), input: JSON.parse(row.request), requestId: row.request_id }
}
