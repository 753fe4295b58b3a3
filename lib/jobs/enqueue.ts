// The durable intent of an accepted request: its job commits with its reservation or its release, or neither does.
import sql, { type Sql } from 'sql-template-tag'
import type { Reads } from '../db/store'
import { RUN_UNTIL } from '../idempotency/store/run-again'

export const RUN_ACCEPTED = 'run-accepted'

const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 5 * 60_000
/** The job engine repeats a job that failed by our own fault or the store's so often. */
const MAX_JOB_RUNS = 25

/** One live job a record: a second one takes the first one's place. */
export const enqueueAccepted = (tx: Reads, recordId: string): Promise<void> =>
  enqueueAt(tx, recordId, sql`clock_timestamp()`)

export const enqueueAfter = (tx: Reads, recordId: string, ms: number): Promise<void> =>
  enqueueAt(tx, recordId, sql`clock_timestamp() + ${ms}::float8 * interval '1 ms'`)

/** The next run after so many attempts. The job that comes when the record's time is over makes it a dead letter. */
export const rerunAccepted =
  (attempts: number) =>
  (tx: Reads, recordId: string): Promise<void> =>
    enqueueAt(
      tx,
      recordId,
      sql`(SELECT least(clock_timestamp() + ${pauseMs(attempts, Math.random())}::float8 * interval '1 ms', ${RUN_UNTIL})
        FROM idempotency_records WHERE id = ${recordId})`,
    )

async function enqueueAt(tx: Reads, recordId: string, runAt: Sql): Promise<void> {
  await tx.query(sql`
    SELECT 1 FROM graphile_worker.add_job(${RUN_ACCEPTED}, json_build_object('recordId', ${recordId}::text),
      run_at := ${runAt}, max_attempts := ${MAX_JOB_RUNS}::int, job_key := ${recordId})`)
}

/** From 1 s to 5 min, later and later, and never all at once. */
export function pauseMs(attempts: number, random: number): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS)
  return Math.max(FIRST_PAUSE_MS, longest * (0.5 + random / 2))
}
