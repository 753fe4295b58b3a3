// The durable intent of an accepted request: its job commits with its reservation, or neither does.
import sql, { type Sql } from 'sql-template-tag'

export const RUN_ACCEPTED = 'run-accepted'

/** Proven not executed is tried again so often, with the job engine's growing pauses. */
export const MAX_RUNS = 8

/** A scalar over the reservation's `moved r`. */
export const enqueueAccepted = (recordId: string): Sql => sql`
  (SELECT (graphile_worker.add_job(${RUN_ACCEPTED}, json_build_object('recordId', ${recordId}::text),
    max_attempts := ${MAX_RUNS}::int, job_key := ${recordId})).id)`
