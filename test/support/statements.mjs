// Preloaded into a node (NODE_OPTIONS=--import): whatever it sends to PostgreSQL in the name of a request, a job or a run
// is told to whoever started it, together with the steps of lib/node/fault.ts.
import pg from 'pg'

const requests = () => globalThis[Symbol.for('onceover.process-wide')]?.get('request-context')
const { query } = pg.Client.prototype

pg.Client.prototype.query = function (statement, ...more) {
  const requestId = requests()?.getStore()
  if (requestId) {
    const pool = this.connectionParameters.application_name
    process.send?.({ requestId, pool, statement: String(statement?.text ?? statement) })
  }
  return query.call(this, statement, ...more)
}
