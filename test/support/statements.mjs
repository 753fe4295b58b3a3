// Preloaded into a node (NODE_OPTIONS=--import): what it sends to PostgreSQL in the name of a request, a job or a run is
// reported to the test process, together with the steps of step-hook.ts. A transaction counts as one statement, at its end:
// a node that dies inside has done nothing.
import pg from 'pg'

const requests = () => globalThis[Symbol.for('onceover.process-wide')]?.get('request-context')
const { query } = pg.Client.prototype
/** A batch is sent by one request for several: its timeline events say for which. */
const OWNER = /"requestId":"([^"]+)"/

const ownersOf = (values = []) => new Set(values.flat().flatMap((value) => OWNER.exec(value)?.[1] ?? []))

/** The transaction that is open on each connection. */
const open = new Map()

pg.Client.prototype.query = function (statement, ...more) {
  const text = String(statement?.text ?? statement)
  const pool = this.connectionParameters.application_name
  if (text === 'BEGIN') open.set(this, { owners: new Set(), texts: [] })
  else if (text === 'ROLLBACK') open.delete(this)
  else if (text === 'COMMIT') {
    const { owners, texts } = open.get(this) ?? { owners: new Set(), texts: [] }
    open.delete(this)
    report(owners, pool, texts.join(';\n'))
  } else {
    const owners = ownersOf(statement?.values)
    const transaction = open.get(this)
    if (transaction) {
      transaction.texts.push(text)
      for (const owner of owners) transaction.owners.add(owner)
    } else report(owners, pool, text)
  }
  return query.call(this, statement, ...more)
}

function report(owners, pool, statement) {
  const [...requestIds] = owners.size > 0 ? owners : [requests()?.getStore()]
  for (const requestId of requestIds) if (requestId) process.send?.({ requestId, pool, statement })
}
