// The one way to PostgreSQL. Every statement goes through here, so every statement is prepared once a connection,
// fails fast while the store is gone, and runs in UTC. Behind a transaction pooler each transaction may meet another
// session: nothing is left in one there, so nothing is prepared, and a statement's time limit is the pooler's to set.
import { createHash } from 'node:crypto'
import pg from 'pg'
import sql from 'sql-template-tag'
import { Circuit } from './circuit'
import { isQueueTimeout, isRefusal, isRetryable, isUnavailable, StoreUnavailable } from './sqlstate'
import { gathering, isTogether, type Statement } from './together'

/** A reservation waits for a rival's commit, which is one statement long: longer than this, something is wrong. */
const STATEMENT_TIMEOUT_MS = 8000
/** Long enough for a busy server, short enough for a client that waits for its 503. */
const CONNECT_TIMEOUT_MS = 3000
/** Deadlock victims run again this often; then it is not bad luck. */
const MAX_RUNS = 3
/**
 * Some hundred are ever in use, and a node meets those of its requests first. A list has thousands of shapes, one for
 * each choice of filters: a connection never forgets what it has prepared, so beyond this they are run unprepared.
 */
const MAX_PREPARED = 900

export interface PoolOptions {
  max: number
  applicationName: string
  /** A transaction pooler stands in between (DATABASE_URL is not DIRECT_DATABASE_URL). */
  pooled?: boolean
}

export interface Store {
  readonly pool: pg.Pool
  /** Runs one statement. Throws StoreUnavailable where the store can't be asked. */
  query<Row>(statement: Statement): Promise<Row[]>
  /** The same past the circuit, for a writer that must keep trying although the circuit is open. */
  queryPastCircuit<Row>(statement: Statement): Promise<Row[]>
  close(): Promise<void>
}

const names = new Map<string, string>()
// A statement's text names it: equal text is prepared once a connection and planned once, whoever wrote it.
function nameOf(text: string): string | undefined {
  let name = names.get(text)
  if (!name && names.size < MAX_PREPARED) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    names.set(text, name)
  }
  return name
}

// As a startup parameter of its own, which `pg` has no option for: a pooler knows this one, and gives each transaction
// its client's. Inside `options`, PgBouncer refuses the connection, or ignores what is in there.
class UtcClient extends (pg.Client as unknown as new (config?: pg.ClientConfig) => pg.Client & StartsUp) {
  /** As the server said when the connection was made; it says so by itself. */
  inRecovery = false

  constructor(config?: pg.ClientConfig) {
    super(config)
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'in_hot_standby') this.inRecovery = parameterValue === 'on'
    })
  }

  override getStartupConf() {
    return { ...super.getStartupConf(), TimeZone: 'UTC' }
  }
}
interface StartsUp {
  readonly connection: {
    on(event: 'parameterStatus', heard: (status: { parameterName: string; parameterValue: string }) => void): void
  }
  getStartupConf(): Record<string, string>
}

/** In a fail-over a proxy may lead to the new primary before its recovery has ended: what it has by then is not all. */
function refuseStandby(client: pg.ClientBase): void {
  if ((client as unknown as UtcClient).inRecovery) throw new StoreUnavailable('the server is in recovery')
}

export function openPool(url: string, options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    Client: UtcClient,
    connectionString: url,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: options.pooled ? undefined : STATEMENT_TIMEOUT_MS,
    // a server that vanished without a word must not hold a request for minutes
    query_timeout: STATEMENT_TIMEOUT_MS + 2000,
    keepAlive: true,
    onConnect: refuseStandby,
  })
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

export function openStore(url: string, options: PoolOptions): Store {
  const pool = openPool(url, options)
  async function run<Row>(statement: Statement): Promise<Row[]> {
    const { text, values } = statement
    const name = options.pooled ? undefined : nameOf(text)
    for (let runs = 1; ; runs++) {
      try {
        const result = await pool.query({ name, text, values: values as unknown[] })
        return result.rows as Row[]
      } catch (error) {
        if (isRetryable(error) && runs < MAX_RUNS) continue
        if (isUnavailable(error)) throw new StoreUnavailable(error)
        throw error
      }
    }
  }

  const circuit = new Circuit(() => run(sql`SELECT 1`))

  async function ask<Row>(statement: Statement): Promise<Row[]> {
    if (!(await circuit.lets())) throw new StoreUnavailable('the circuit is open')
    try {
      const rows = await run<Row>(statement)
      circuit.succeeded()
      return rows
    } catch (error) {
      if (!isUnavailable(error)) circuit.succeeded()
      // All of our connections are busy: too much to do, and no sign that the store is gone.
      else if (!(isQueueTimeout(error) && pool.totalCount >= options.max)) circuit.failed()
      throw error
    }
  }
  const gather = gathering(ask, isRefusal)

  return {
    pool,
    query: (statement) => (isTogether(statement) ? gather(statement) : ask(statement)),
    queryPastCircuit: run,
    close: () => pool.end(),
  }
}
