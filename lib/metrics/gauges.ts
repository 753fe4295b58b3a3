// How things stand, over all nodes: read from the store when somebody asks, in one statement whose cost does not grow
// with the table. What is open (pending, in progress, retryable, unknown, dead letters) is counted exactly, each from a
// partial index that holds nothing else. What is finished may be millions of rows: it is counted up to a limit, and
// beyond that taken from the planner's statistics of the index that holds it, which vacuum and analyse keep right to
// about a tenth.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import { STATES, type State } from '../idempotency/states'
import { UNKNOWN_SINCE } from '../idempotency/store/event'

/** A few milliseconds of index. Below it there are no statistics worth reading either. */
const EXACT_UP_TO = 20_000

export interface StateCount {
  count: number
  estimated: boolean
}

export interface Gauges {
  records: Record<State, StateCount>
  /** Since the oldest of the unknown outcomes became unknown; 0 where there is none. */
  oldestUnknownSeconds: number
  deadLetters: number
}

type Row = Record<State, number> & {
  completed_estimated: boolean
  expired_estimated: boolean
  dead_letters: number
  oldest_unknown_seconds: number
}

const exactly = (condition: Sql): Sql => sql`(SELECT count(*) FROM idempotency_records WHERE ${condition})::float8`
const upToLimit = (condition: Sql): Sql =>
  sql`(SELECT count(*) FROM (SELECT FROM idempotency_records WHERE ${condition} LIMIT ${EXACT_UP_TO}::int) few)::float8`
const statisticsOf = (index: string): Sql =>
  sql`(SELECT reltuples FROM pg_class WHERE oid = to_regclass(${index}))::float8`

// The record whose last lease ended first has been unknown for longest; its timeline says since when. Two branches, in
// the order of the index each: dead letters sort apart.
const oldestUnknown = (deadLettered: Sql): Sql => sql`(
  SELECT ${UNKNOWN_SINCE} FROM idempotency_records r WHERE r.state = 'unknown' AND ${deadLettered} LIMIT 1)`

export async function readGauges(store: Pick<Store, 'query'>): Promise<Gauges> {
  const [row] = await store.query<Row>(sql`
    WITH counted AS MATERIALIZED (
      SELECT
        ${exactly(sql`async AND state = 'pending'`)} AS pending,
        ${exactly(sql`state = 'in_progress'`)} AS in_progress,
        ${exactly(sql`state = 'failed_retryable'`)} AS failed_retryable,
        ${exactly(sql`state = 'unknown'`)} AS unknown,
        -- the index has no other: together they are counted without a look at the rows
        ${upToLimit(sql`state IN ('completed', 'failed_retryable')`)} AS kept,
        ${upToLimit(sql`state = 'expired'`)} AS expired,
        ${exactly(sql`state IN ('failed_retryable', 'unknown') AND dead_lettered_at IS NOT NULL`)} AS dead_letters,
        least(
          ${oldestUnknown(sql`r.dead_lettered_at IS NULL ORDER BY r.settles_at`)},
          ${oldestUnknown(sql`r.dead_lettered_at IS NOT NULL ORDER BY r.dead_lettered_at, r.settles_at`)}
        ) AS unknown_since
    ), estimated AS (
      SELECT *, kept >= ${EXACT_UP_TO}::int AS completed_estimated, expired >= ${EXACT_UP_TO}::int AS expired_estimated
      FROM counted
    )
    SELECT pending, in_progress, failed_retryable, unknown, dead_letters, completed_estimated, expired_estimated,
      greatest(0, CASE WHEN completed_estimated THEN greatest(kept, ${statisticsOf('public.records_to_expire')})
        ELSE kept END - failed_retryable) AS completed,
      CASE WHEN expired_estimated THEN greatest(expired, ${statisticsOf('public.records_tombstones')})
        ELSE expired END AS expired,
      greatest(0, coalesce(extract(epoch FROM clock_timestamp() - unknown_since), 0))::float8 AS oldest_unknown_seconds
    FROM estimated`)
  const { dead_letters, oldest_unknown_seconds, completed_estimated, expired_estimated } = row!
  const estimated: Partial<Record<State, boolean>> = { completed: completed_estimated, expired: expired_estimated }
  const records = STATES.map((state) => [state, { count: row![state], estimated: estimated[state] ?? false }])
  return {
    records: Object.fromEntries(records) as Record<State, StateCount>,
    oldestUnknownSeconds: oldest_unknown_seconds,
    deadLetters: dead_letters,
  }
}
