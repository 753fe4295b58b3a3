// All that is stored, as one number for each table: what changes no row changes no number.
import type pg from 'pg'

/** They count and sample in their own time. */
const BY_THEMSELVES = [
  'metric_minutes',
  'metric_hours',
  'state_samples',
  'schedules',
  'tenant_usage',
  'tenant_live_keys',
]
/** To the minute, and for people who clean up. */
const NOTED_IN_PASSING = ['last_used_at', 'heartbeat_at', 'last_replayed_at', 'replay_count']

export type Stored = Record<string, string>

export async function openStored(db: pg.Pool): Promise<() => Promise<Stored>> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname IN ('public', 'sandbox') AND tablename <> ALL ($1) ORDER BY 1`,
    [BY_THEMSELVES],
  )
  const numbers = rows.map(
    ({ name }) =>
      `SELECT '${name}' AS name, count(*) || ':' || coalesce(sum(hashtext((to_jsonb(t) - $1::text[])::text)), 0) AS number
       FROM ${name} t`,
  )
  return async () => {
    const { rows } = await db.query<{ name: string; number: string }>(numbers.join('\nUNION ALL\n'), [NOTED_IN_PASSING])
    return Object.fromEntries(rows.map(({ name, number }) => [name, number]))
  }
}

/** The tables whose rows are not the same any more. */
export const changedTables = (before: Stored, after: Stored): string[] =>
  Object.keys(after).filter((name) => before[name] !== after[name])

/** Nothing is under way any more: what was accepted is done, and runs have ended. */
export async function isQuiet(db: pg.Pool): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT 1 FROM idempotency_records WHERE state IN ('pending', 'in_progress')
     UNION ALL SELECT 1 FROM runs WHERE state = 'running'
     UNION ALL SELECT 1 FROM operator_requests WHERE finished_at IS NULL LIMIT 1`,
  )
  return rows.length === 0
}
