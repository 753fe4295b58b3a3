// What a node needs of its connections, asked before it serves: LISTEN and the job engine live in one session, so their
// connection must keep it; everything else may meet another session in each transaction, as long as it is in UTC. A
// pooler in the wrong place would lose notifications and prepared statements now and then, under load and never in a test.
import pg from 'pg'
import sql from 'sql-template-tag'
import type { Config } from '../config'
import { log } from '../log'
import type { Store } from './store'

const ANSWER_LIMIT_MS = 5000
/** An idle pooler betrays itself in the first, a busy one soon. */
const ROUNDS = 5

export async function checkSessions(
  store: Store,
  { databasePooled, directDatabaseUrl }: Pick<Config, 'databasePooled' | 'directDatabaseUrl'>,
): Promise<void> {
  if (!(await keepsSession(directDatabaseUrl!)))
    throw new Error(
      databasePooled
        ? 'Configuration: DIRECT_DATABASE_URL: leads through a transaction pooler, and must lead to PostgreSQL itself'
        : 'Configuration: DATABASE_URL: leads through a transaction pooler; set DIRECT_DATABASE_URL to PostgreSQL itself',
    )
  if (!databasePooled) return
  const [session] = await store.query<{ zone: string; unlimited: string[] }>(sql`
    SELECT current_setting('TimeZone') AS zone,
      ARRAY(SELECT name FROM pg_settings WHERE setting = '0'
        AND name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name) AS unlimited`)
  if (session!.zone !== 'UTC')
    throw new Error(`Configuration: DATABASE_URL: the pooler drops TimeZone=UTC and gives ${session!.zone}`)
  if (session!.unlimited.length > 0)
    log().warn(
      { settings: session!.unlimited },
      'time limits are not set behind the pooler; docs/scaling.md has the line for pgbouncer.ini',
    )
}

/** False where two transactions of one connection are seen in two sessions, or two connections in one. */
export async function keepsSession(url: string): Promise<boolean> {
  const [one, other] = [newClient(url), newClient(url)]
  try {
    await one.connect()
    // PostgreSQL tells each connection which process serves it; a pooler makes a number up. Others may do so too.
    if ((await sessionOf(one)) === one.processID) return true
    await other.connect()
    for (let round = 1; round <= ROUNDS; round++) {
      const before = await sessionOf(one)
      await other.query('BEGIN')
      if ((await sessionOf(other)) === before || (await sessionOf(one)) !== before) return false
      await other.query('ROLLBACK')
    }
    return true
  } finally {
    await Promise.allSettled([one.end(), other.end()])
  }
}

function newClient(url: string) {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'onceover-start',
    connectionTimeoutMillis: ANSWER_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
  })
  client.on('error', () => {})
  return client as pg.Client & { processID: number | null }
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]!.pid
}
