// How many records were in each state, once a minute, written by one node: what is usual at this hour, and since when it
// is not. After eight days the first sample of each hour is kept, as long as the widest chart looks back.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { STATES, type State } from '../idempotency/states'
import { readGauges } from './gauges'

/** A week to know what is usual, and a day to be late. */
const MINUTES_KEPT_DAYS = 8
/** As long as the hours of the other numbers. */
const HOURS_KEPT_DAYS = 40
const DELETED_A_STATEMENT = 5000
/** Days of which the same hour is looked at. */
const USUAL_DAYS = 7

/** A second node in the same minute adds nothing. */
export async function sampleStates(store: Pick<Store, 'query'>): Promise<void> {
  const { records, oldestUnknownSeconds } = await readGauges(store)
  await store.query(sql`
    INSERT INTO state_samples (at, state, count, oldest_seconds)
    SELECT date_trunc('minute', clock_timestamp()), s.state, s.count,
      CASE WHEN s.state = 'unknown' THEN ${oldestUnknownSeconds}::float8 END
    FROM unnest(${STATES}::record_state[], ${STATES.map((state) => Math.round(records[state].count))}::bigint[])
      AS s (state, count)
    ON CONFLICT (at, state) DO NOTHING`)
}

/** How many went. */
export async function thinOutSamples(store: Pick<Store, 'query'>): Promise<number> {
  for (let sum = 0; ; ) {
    const gone = await store.query(sql`
      DELETE FROM state_samples WHERE ctid = ANY(ARRAY(
        SELECT s.ctid FROM state_samples s
        WHERE s.at < (SELECT clock_timestamp() - ${MINUTES_KEPT_DAYS}::int * interval '1 day')
          AND (s.at < (SELECT clock_timestamp() - ${HOURS_KEPT_DAYS}::int * interval '1 day')
            OR EXISTS (SELECT 1 FROM state_samples earlier WHERE earlier.state = s.state
              AND earlier.at >= date_trunc('hour', s.at) AND earlier.at < s.at))
        LIMIT ${DELETED_A_STATEMENT}::int))
      RETURNING 1`)
    sum += gone.length
    if (gone.length < DELETED_A_STATEMENT) return sum
  }
}

export type Usual = Record<State, number | null>

/** The median of the same hour of the last seven days, half of it before and half after now; null before there is any. */
export async function usualCounts(store: Pick<Store, 'query'>): Promise<Usual> {
  const rows = await store.query<{ state: State; usual: number }>(sql`
    SELECT s.state, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.count) AS usual
    FROM (SELECT clock_timestamp() AS at) now, generate_series(1, ${USUAL_DAYS}::int) AS ago (days),
      LATERAL (SELECT state, count FROM state_samples
        WHERE at >= now.at - ago.days * interval '1 day' - interval '30 minutes'
          AND at < now.at - ago.days * interval '1 day' + interval '30 minutes') s
    GROUP BY s.state`)
  const usual = new Map(rows.map((row) => [row.state, Math.round(row.usual)]))
  return Object.fromEntries(STATES.map((state) => [state, usual.get(state) ?? null])) as Usual
}

export interface SampledPoint {
  at: Date
  counts: Partial<Record<State, number>>
  /** How long the oldest of the unknown outcomes had been unknown, at most. */
  oldestUnknownSeconds: number | null
}

/** One point for each step that has a sample, oldest first. */
export async function readSamples(
  store: Pick<Store, 'query'>,
  { windowMs, stepMs }: { windowMs: number; stepMs: number },
): Promise<SampledPoint[]> {
  const stepSeconds = stepMs / 1000
  const rows = await store.query<{ at: Date; counts: Record<State, number>; oldest: number | null }>(sql`
    WITH stepped AS (
      SELECT to_timestamp(floor(extract(epoch FROM at) / ${stepSeconds}::float8) * ${stepSeconds}::float8) AS step,
        state, avg(count)::float8 AS count, max(oldest_seconds) AS oldest
      FROM state_samples WHERE at >= (SELECT clock_timestamp() - ${windowMs}::float8 * interval '1 ms')
      GROUP BY step, state
    )
    SELECT step AS at, jsonb_object_agg(state, count) AS counts, max(oldest) AS oldest
    FROM stepped GROUP BY step ORDER BY step`)
  return rows.map(({ at, counts, oldest }) => ({ at, counts, oldestUnknownSeconds: oldest }))
}
