// The durable intent of an accepted request: its job commits with its reservation or its release, or neither does.
import sql, { type Sql } from 'sql-template-tag'

export const RUN_ACCEPTED = 'run-accepted'

/** So many attempts that were proven not executed; then people are told. */
const MAX_ATTEMPTS = 8
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 5 * 60_000
/** The job engine repeats a job that failed by our own fault or the store's so often. */
const MAX_JOB_RUNS = 25

/** A scalar over `moved r`. One live job a record: a second one takes the first one's place. */
export const enqueueAccepted = (recordId: string, afterMs = 0): Sql => sql`
  (SELECT (graphile_worker.add_job(${RUN_ACCEPTED}, json_build_object('recordId', ${recordId}::text),
    run_at := clock_timestamp() + ${afterMs}::float8 * interval '1 ms', max_attempts := ${MAX_JOB_RUNS}::int,
    job_key := ${recordId})).id)`

/** Later and later, and never all at once. */
export function rerunAccepted(recordId: string, attempts: number): Sql | null {
  if (attempts >= MAX_ATTEMPTS) return null
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS)
  return enqueueAccepted(recordId, pauseMs * (0.5 + Math.random()))
}
