// Preloaded into a node (NODE_OPTIONS=--import): whatever it sends to PostgreSQL in the name of a request, a job or a run
// is told to whoever started it, together with the steps of step-hook.ts.
import pg from 'pg'

const requests = () => globalThis[Symbol.for('onceover.process-wide')]?.get('request-context')
const { query } = pg.Client.prototype
/** One of lib/db/together.ts is sent by one request for several, or for another: whose it is, its events say. */
const TOGETHER = /^WITH sent AS /
const OWNER = /"requestId":"([^"]+)"/

const ownersOf = (values) => new Set(values.flat().flatMap((value) => OWNER.exec(value)?.[1] ?? []))

pg.Client.prototype.query = function (statement, ...more) {
  const text = String(statement?.text ?? statement)
  const owners = TOGETHER.test(text) ? ownersOf(statement.values) : [requests()?.getStore()]
  const pool = this.connectionParameters.application_name
  for (const requestId of owners) if (requestId) process.send?.({ requestId, pool, statement: text })
  return query.call(this, statement, ...more)
}
