// What has to be known of a record before the provider is asked about it.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Input } from '../idempotency/operation'
import { type KeyRecord, RECORD_COLUMNS, type RecordRow, toRecord } from '../idempotency/record'
import { RUN_UNTIL } from '../idempotency/store/run-again'

export interface ToReconcile {
  record: KeyRecord
  input: Input
  requestId: string
  /** The settle window was over before the provider was asked: "no such charge" is proof from here on. */
  settled: boolean
  /** When it is over; null where nobody has called yet. */
  settlesAt: Date | null
  /** For how long its answer is kept, from when there is one. */
  retentionSeconds: number
  /** Of an asynchronous record: its worker would run it again by itself. */
  runsAgain: boolean
}

export async function findToReconcile(store: Store, recordId: string): Promise<ToReconcile | null> {
  const [row] = await store.query<
    RecordRow & {
      request: string | null
      request_id: string
      settles_at: Date | null
      settled: boolean | null
      retention_seconds: number
      runs_again: boolean
    }
  >(sql`
    SELECT ${RECORD_COLUMNS}, r.request, r.request_id, r.settles_at, r.settles_at <= clock_timestamp() AS settled,
      r.retention_seconds, ${RUN_UNTIL} > clock_timestamp() AS runs_again
    FROM idempotency_records r WHERE r.id = ${recordId}`)
  if (!row?.request) return null
  return {
    record: toRecord(row),
    input: JSON.parse(row.request),
    requestId: row.request_id,
    settled: row.settled ?? false,
    settlesAt: row.settles_at,
    retentionSeconds: row.retention_seconds,
    runsAgain: row.runs_again,
  }
}
