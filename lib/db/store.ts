// The one way to PostgreSQL. Every statement goes through here, so every statement is prepared once a connection,
// fails fast while the store is gone, and runs in UTC. Behind a transaction pooler each transaction may meet another
// session: nothing is left in one there, so nothing is prepared, and the time limits are the pooler's to set.
import { createHash } from 'node:crypto'
import pg from 'pg'
import sql, { type Sql } from 'sql-template-tag'
import { Circuit } from './circuit'
import { isQueueTimeout, isRetryable, isUnavailable, StoreUnavailable } from './sqlstate'

/** A reservation waits for a rival's commit, which is one statement long: longer than this, something is wrong. */
const STATEMENT_TIMEOUT_MS = 8000
/** Shorter than a statement's limit: a statement that waits for a lock is known to have done nothing. */
const LOCK_TIMEOUT_MS = 6000
/** A node that stalls inside a transaction holds its locks for no longer than this. */
const IDLE_IN_TRANSACTION_MS = 5000
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

/** What the store needs to know of a statement. */
export type Statement = Pick<Sql, 'text' | 'values'>

/** A transaction that is open: what is written in it commits together or not at all. */
export interface Tx {
  query<Row>(statement: Statement): Promise<Row[]>
  /** The connection, for a query builder that brings its own way to write statements. */
  readonly client: pg.ClientBase
}

export type Reads = Pick<Tx, 'query'>

/** What a move of a record needs. */
export interface Db {
  /** Runs one statement. Throws StoreUnavailable where the store can't be asked. */
  query<Row>(statement: Statement): Promise<Row[]>
  /**
   * Runs `work` between BEGIN and COMMIT at the isolation level READ COMMITTED, and rolls back what throws. `work` runs
   * again after a deadlock, so it keeps nothing outside of the transaction.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

export interface Store extends Db {
  readonly pool: pg.Pool
  /** The same past the circuit, for a writer that must keep trying although the circuit is open. */
  readonly pastCircuit: Db
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

const TIME_LIMITS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
}

export function openPool(url: string, options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    Client: UtcClient,
    connectionString: url,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...(options.pooled ? {} : TIME_LIMITS),
    // a server that vanished without a word must not hold a request for minutes
    query_timeout: STATEMENT_TIMEOUT_MS + 2000,
    keepAlive: true,
    // BEGIN goes out with the first statement, and statements that need nothing of each other go out together.
    pipeline: !options.pooled,
    onConnect: refuseStandby,
  })
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

export function openStore(url: string, options: PoolOptions): Store {
  const pool = openPool(url, options)

  async function send<Row>(connection: pg.Pool | pg.ClientBase, { text, values }: Statement): Promise<Row[]> {
    const name = options.pooled ? undefined : nameOf(text)
    const { rows } = await connection.query({ name, text, values: values as unknown[] })
    return rows as Row[]
  }

  async function inTransaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let broken = false
    // Not waited for: it goes out with the first statement, whose error says the same.
    const begun = client.query('BEGIN')
    begun.catch(() => {})
    try {
      const result = await work({ client, query: (statement) => send(client, statement) })
      const { command } = await client.query('COMMIT')
      if (command !== 'COMMIT')
        throw new Error('the transaction was rolled back: an error of a statement in it was ignored')
      return result
    } catch (error) {
      broken = isUnavailable(error) || !(await rolledBack(client))
      throw error
    } finally {
      client.release(broken)
    }
  }

  const direct: Db = {
    query: (statement) => repeated(() => send(pool, statement)),
    transaction: (work) => repeated(() => inTransaction(work)),
  }
  const circuit = new Circuit(() => direct.query(sql`SELECT 1`))

  async function throughCircuit<T>(ask: () => Promise<T>): Promise<T> {
    if (!(await circuit.lets())) throw new StoreUnavailable('the circuit is open')
    try {
      const result = await ask()
      circuit.succeeded()
      return result
    } catch (error) {
      if (!isUnavailable(error)) circuit.succeeded()
      // All of our connections are busy: too much to do, and no sign that the store is gone.
      else if (!(isQueueTimeout(error) && pool.totalCount >= options.max)) circuit.failed()
      throw error
    }
  }

  return {
    pool,
    query: (statement) => throughCircuit(() => direct.query(statement)),
    transaction: (work) => throughCircuit(() => direct.transaction(work)),
    pastCircuit: direct,
    close: () => pool.end(),
  }
}

/** Victims of a deadlock run again. */
async function repeated<T>(run: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs++) {
    try {
      return await run()
    } catch (error) {
      if (isRetryable(error) && runs < MAX_RUNS) continue
      if (isUnavailable(error)) throw new StoreUnavailable(error)
      throw error
    }
  }
}

const rolledBack = (client: pg.ClientBase): Promise<boolean> =>
  client.query('ROLLBACK').then(
    () => true,
    () => false,
  )
