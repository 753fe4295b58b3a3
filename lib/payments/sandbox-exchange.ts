// One statement to the sandbox's database, sorted by what its ending proves: a statement that was not sent is never
// sent later, and one that may have been sent is never called unsent. Ends with the call's time limit at the latest.

import type { Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg'
import { OVER, type TimeLimit } from './time-limit'

export type Exchange<T> =
  | { kind: 'answered'; value: T }
  | { kind: 'not_sent'; code: string }
  | { kind: 'no_answer'; code: string }

export async function exchange<R extends QueryResultRow>(
  pool: Pool,
  limit: TimeLimit,
  statement: QueryConfig,
): Promise<Exchange<R[]>> {
  const connection = await connect(pool, limit)
  if (connection.kind !== 'answered') return connection
  const client = connection.value

  // pg also emits what it rejects with, and the pool does not listen while a client is out. Stays on after a failure:
  // a broken connection may complain more than once.
  const ignore = () => {}
  client.on('error', ignore)
  try {
    const result = await Promise.race([client.query<R>(statement), limit.over])
    if (result === OVER) {
      client.release(true)
      return { kind: 'no_answer', code: 'timeout' }
    }
    client.off('error', ignore)
    client.release()
    return { kind: 'answered', value: result.rows }
  } catch {
    client.release(true)
    return { kind: 'no_answer', code: 'server_error' }
  }
}

async function connect(pool: Pool, limit: TimeLimit): Promise<Exchange<PoolClient>> {
  const connecting = pool.connect()
  try {
    const client = await Promise.race([connecting, limit.over])
    if (client !== OVER && !limit.isOver()) return { kind: 'answered', value: client }
    // A connection that comes after the limit goes back unused.
    connecting.then(
      (late) => late.release(),
      () => {},
    )
    return { kind: 'not_sent', code: 'connection_timeout' }
  } catch {
    return { kind: 'not_sent', code: 'connection_refused' }
  }
}
