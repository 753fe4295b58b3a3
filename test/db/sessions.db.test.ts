// A pooler that does not keep what a node needs of its sessions is noticed before the node serves. A real one is met in
// test/scenarios/pgbouncer.test.ts; here is one that drops what a connection asks for.
import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkSessions } from '../../lib/db/sessions'
import { openStore, type Store } from '../../lib/db/store'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { runSql } from '../support/tenant'

let database: TestDatabase
beforeAll(async () => {
  database = await cloneDatabase()
  await runSql(database.url, `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET timezone TO 'Asia/Tokyo'`)
})
afterAll(() => database.drop())

/** The sessions have what the database gives them, and nothing of what was asked for at their start. */
function openForgetful(): Pick<Store, 'query'> & { close(): Promise<void> } {
  const pool = new pg.Pool({ connectionString: database.url })
  return {
    query: async <Row>({ text, values }: Sql) => (await pool.query(text, values as unknown[])).rows as Row[],
    close: () => pool.end(),
  }
}

const check = (store: Pick<Store, 'query'>, databasePooled: boolean) =>
  checkSessions(store as Store, { databasePooled, directDatabaseUrl: database.url })

it('a pooler that drops TimeZone=UTC is refused with an error that names the zone it gives instead', async () => {
  const forgetful = openForgetful()
  await expect(check(forgetful, true)).rejects.toThrow(
    'Configuration: DATABASE_URL: the pooler drops TimeZone=UTC and gives Asia/Tokyo',
  )
  await forgetful.close()
})

it('a connection that keeps TimeZone=UTC is accepted', async () => {
  const store = openStore(database.url, { max: 1, applicationName: 'a test', pooled: true })
  await check(store, true)
  await store.close()
})
