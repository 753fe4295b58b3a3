// Preloaded into a node (NODE_OPTIONS=--import): whatever it sends to PostgreSQL in the name of a request, a job or a run
// is told to whoever started it, together with the steps of lib/node/fault.ts.
import pg from 'pg'

const requests = () => globalThis[Symbol.for('onceover.process-wide')]?.get('request-context')
const { query } = pg.Client.prototype
/** Of lib/db/together.ts: sent by one for many, so in nobody's name. */
const TOGETHER = /^WITH sent AS \(SELECT \*/

pg.Client.prototype.query = function (statement, ...more) {
  const requestId = requests()?.getStore()
  const text = String(statement?.text ?? statement)
  if (requestId && !TOGETHER.test(text))
    process.send?.({ requestId, pool: this.connectionParameters.application_name, statement: text })
  return query.call(this, statement, ...more)
}
