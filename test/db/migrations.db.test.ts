// The migrations that a build expects are those in its folder, and a database that lacks one says so.
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXPECTED_MIGRATIONS } from '../../lib/db/expected-migrations'
import { missingMigrations } from '../../lib/db/migrations'
import { openStore, type Store } from '../../lib/db/store'
import { cloneDatabase } from '../support/database'

const root = path.resolve(import.meta.dirname, '..', '..')
const folder = path.join(root, 'prisma', 'migrations')

/** In the order in which every request takes them: who holds one and wants an earlier one may wait for a request for ever. */
const REQUEST_TABLES = ['idempotency_records', 'orders', 'refunds', 'ledger_entries']
const tablesOf = (text: string) => (text.match(/\w+/g) ?? []).filter((word) => REQUEST_TABLES.includes(word))

let database: Awaited<ReturnType<typeof cloneDatabase>>
let store: Store
beforeAll(async () => {
  database = await cloneDatabase()
  store = openStore(database.url, { max: 2, applicationName: 'migrations' })
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

describe('the expected migrations', () => {
  it('are the folders of prisma/migrations, in order', async () => {
    const entries = await readdir(folder, { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
    expect([...EXPECTED_MIGRATIONS]).toEqual(folders.sort())
  })

  // The foundation is of a database that nobody uses yet.
  it.each(EXPECTED_MIGRATIONS.slice(1))('lock tables in the same order as requests do: %s', async (name) => {
    const text = await readFile(path.join(folder, name, 'migration.sql'), 'utf8')
    const asked = [...text.matchAll(/^(?:LOCK TABLE|ALTER TABLE|(?:CREATE|DROP) [^;]*?TRIGGER [^;]*? ON) ([^;]*)/gm)]
    const locked = new Set(
      asked.flatMap(([all, rest]) => tablesOf(all.startsWith('LOCK') ? rest! : rest!.split(/\s/)[0]!)),
    )
    expect([...locked]).toEqual(REQUEST_TABLES.filter((table) => locked.has(table)))
  })

  it.each([...EXPECTED_MIGRATIONS])('never queue live traffic behind a lock: %s', async (name) => {
    const text = await readFile(path.join(folder, name, 'migration.sql'), 'utf8')
    // a build beside live traffic takes no lock that a writer waits for, and can't share a transaction
    const concurrently = /CREATE (UNIQUE )?INDEX CONCURRENTLY/.test(text) && text.match(/;/g)?.length === 1
    expect(concurrently || /^SET lock_timeout = /m.test(text)).toBe(true)
  })

  it('are all applied in a database that was migrated', async () => {
    expect(await missingMigrations(store)).toEqual([])
  })

  it('are reported as missing when they failed, were rolled back or never ran', async () => {
    const [first, second] = EXPECTED_MIGRATIONS
    await store.query(sql`UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = ${first}`)
    expect(await missingMigrations(store)).toEqual([first])
    await store.query(sql`UPDATE _prisma_migrations SET finished_at = now() WHERE migration_name = ${first}`)
    if (!second) return
    await store.query(sql`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = ${second}`)
    expect(await missingMigrations(store)).toEqual([second])
    await store.query(sql`DELETE FROM _prisma_migrations WHERE migration_name = ${second}`)
    expect(await missingMigrations(store)).toEqual([second])
  })
})

describe('the Prisma schema', () => {
  it('matches the migrated database without drift', { timeout: 60_000 }, async () => {
    const prisma = path.join(root, 'node_modules', 'prisma', 'build', 'index.js')
    const drift = ['migrate', 'diff', '--from-config-datasource', '--to-schema', 'prisma/schema.prisma', '--exit-code']
    const { DIRECT_DATABASE_URL: _, ...environment } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, [prisma, ...drift], {
      cwd: root,
      env: { ...environment, DATABASE_URL: database.url },
    })
    expect(stdout).toContain('No difference detected')
  })
})
