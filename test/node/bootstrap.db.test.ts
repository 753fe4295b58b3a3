// Several nodes start at once on an empty database, on a machine that has much to do: each waits for its turn.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, it } from 'vitest'
import { parseConfig } from '../../lib/config'
import { openStore } from '../../lib/db/store'
import { bootstrap } from '../../lib/node/bootstrap'
import { cloneDatabase } from '../support/database'

/** As lib/node/bootstrap.ts has it. */
const BOOTSTRAP_LOCK = 7_306_501
/** Several looks at the lock. */
const OTHERS_TURN_MS = 500

it('a node’s bootstrap waits for another node that holds the bootstrap lock', async () => {
  const database = await cloneDatabase()
  const store = openStore(database.url, { max: 3, applicationName: 'bootstrap-test' })
  const other = new pg.Client({ connectionString: database.url })
  await other.connect()
  try {
    await other.query('BEGIN')
    await other.query('SELECT pg_advisory_xact_lock($1)', [BOOTSTRAP_LOCK])
    const starting = bootstrap(store, parseConfig({}))
    await sleep(OTHERS_TURN_MS)
    await other.query('COMMIT')
    expect(await starting).toMatchObject({ apiKey: expect.stringMatching(/^oo_demo_/), admin: expect.anything() })
  } finally {
    await other.end()
    await store.close()
    await database.drop()
  }
})
