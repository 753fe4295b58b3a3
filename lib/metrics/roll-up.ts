// Minutes become hours, and what is old goes. An hour is computed from its minutes each time, and never added to, so
// running it twice, or on two nodes at once, changes nothing. Minutes are deleted by the hour and only after it was
// rolled up: an hour that has any of its minutes has all of them.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import { NOW } from '../idempotency/store/event'
import { log } from '../log'
import { takeTurn } from '../maintenance/schedule'
import { MAX_LATE_MS } from './save'
import { sampleStates, thinOutSamples } from './state-samples'

/** The console's day is charted by the minute; a second one to look back at yesterday. */
const MINUTES_KEPT_HOURS = 48
/** Longer than the console's widest window, 30 days. */
const HOURS_KEPT_DAYS = 40
/** A quarter to find out which client does it; by then its keys are long gone. */
const MISUSE_KEPT_DAYS = 90
const DELETED_A_STATEMENT = 10_000
const SLACK_MS = 5 * 60_000

const ROLL_UP_EVERY_MS = 60_000
/** Every worker node looks this often whether the minute is over; one of them does it. */
const LOOK_EVERY_MS = 15_000

export interface RolledUp {
  /** Hours that were computed again. */
  hours: number
  /** Rows of them that were new or had changed. */
  changed: number
  minutesDeleted: number
  hoursDeleted: number
  misuseDeleted: number
}

export async function rollUpMetrics(store: Pick<Store, 'query'>): Promise<RolledUp> {
  const hours = await hoursToRollUp(store)
  let changed = 0
  // An hour a statement: after two days without a worker there are many.
  for (const hour of hours) changed += await rollUpHour(store, hour)
  return {
    hours: hours.length,
    changed,
    minutesDeleted: await deleteOldMinutes(store),
    hoursDeleted: await deleteOldHours(store),
    misuseDeleted: await deleteOldMisuse(store),
  }
}

/**
 * Those that a late flush may have added to since the last roll-up, which was before its last hour ended. The slack is
 * for a flush that began in time and commits while we read.
 */
async function hoursToRollUp(store: Pick<Store, 'query'>): Promise<Date[]> {
  const rows = await store.query<{ hour: Date }>(sql`
    WITH last AS MATERIALIZED (
      SELECT coalesce(max(at) + interval '1 hour', '-infinity') AS before FROM metric_hours
    ), bounds AS MATERIALIZED (
      SELECT date_trunc('hour', now.at) AS until, greatest(
        date_trunc('hour', (SELECT min(at) FROM metric_minutes)),
        date_trunc('hour', least(last.before, now.at) - ${MAX_LATE_MS + SLACK_MS}::float8 * interval '1 ms')
      ) AS since
      FROM last, ${NOW} WHERE EXISTS (SELECT 1 FROM metric_minutes)
    )
    SELECT hour FROM bounds, generate_series(since, until, interval '1 hour') hour
    WHERE EXISTS (SELECT 1 FROM metric_minutes WHERE at >= hour AND at < hour + interval '1 hour')
    ORDER BY hour`)
  return rows.map(({ hour }) => hour)
}

// A count only grows. So of two nodes that compute one hour the greater is right, whoever writes last.
async function rollUpHour(store: Pick<Store, 'query'>, hour: Date): Promise<number> {
  const [row] = await store.query<{ changed: number }>(sql`
    WITH rolled AS (
      INSERT INTO metric_hours AS h (at, metric, endpoint, tenant_id, bucket, value)
      SELECT ${hour}::timestamptz, metric, endpoint, tenant_id, bucket, sum(value)
      FROM metric_minutes WHERE at >= ${hour}::timestamptz AND at < ${hour}::timestamptz + interval '1 hour'
      GROUP BY metric, endpoint, tenant_id, bucket
      ORDER BY metric, tenant_id, endpoint, bucket
      ON CONFLICT (metric, at, tenant_id, endpoint, bucket) DO UPDATE SET value = excluded.value
      WHERE h.value < excluded.value
      RETURNING 1
    )
    SELECT count(*)::int AS changed FROM rolled`)
  return row!.changed
}

// The time is read in a subquery of its own: only what is constant for the statement can be looked up in an index.

const deleteOldMinutes = (store: Pick<Store, 'query'>): Promise<number> =>
  deleteBefore(
    store,
    sql`metric_minutes`,
    sql`date_trunc('hour', clock_timestamp() - ${MINUTES_KEPT_HOURS}::int * interval '1 hour')`,
  )

const deleteOldHours = (store: Pick<Store, 'query'>): Promise<number> =>
  deleteBefore(store, sql`metric_hours`, sql`clock_timestamp() - ${HOURS_KEPT_DAYS}::int * interval '1 day'`)

const deleteOldMisuse = (store: Pick<Store, 'query'>): Promise<number> =>
  deleteBefore(store, sql`misuse`, sql`clock_timestamp() - ${MISUSE_KEPT_DAYS}::int * interval '1 day'`)

function deleteBefore(store: Pick<Store, 'query'>, table: Sql, instant: Sql): Promise<number> {
  return inBatches(async () => {
    const gone = await store.query(sql`
      DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${table} WHERE at < (SELECT ${instant}) LIMIT ${DELETED_A_STATEMENT}::int))
      RETURNING 1`)
    return gone.length
  })
}

async function inBatches(next: () => Promise<number>): Promise<number> {
  for (let sum = 0; ; ) {
    const count = await next()
    sum += count
    if (count < DELETED_A_STATEMENT) return sum
  }
}

export interface RollUps {
  /** Ends when the one under way has. */
  stop(): Promise<void>
}

export function startRollUps(store: Store): RollUps {
  let underWay: Promise<void> | null = null

  async function look(): Promise<void> {
    if (!(await takeTurn(store, 'metrics', ROLL_UP_EVERY_MS))) return
    await sampleStates(store)
    await rollUpMetrics(store)
    await thinOutSamples(store)
  }

  const timer = setInterval(() => {
    underWay ??= look()
      .catch((error) => log().warn({ err: error }, 'the numbers could not be rolled up'))
      .finally(() => {
        underWay = null
      })
  }, LOOK_EVERY_MS)
  timer.unref()

  return {
    async stop() {
      clearInterval(timer)
      await underWay
    },
  }
}
