// What a database needs before a node serves on it, and what a migration may contain.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrationsOf, missingMigrations } from '../../lib/db/migrations'
import { openStore, type Store } from '../../lib/db/store'
import { applyMigrations } from '../../scripts/migrations'
import { cloneDatabase } from '../support/database'
import { brokenRules } from '../support/migration-rules'

const root = path.resolve(import.meta.dirname, '..', '..')
const folder = path.join(root, 'prisma', 'migrations')
const [baseline, ...later] = migrationsOf(root)

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

describe('a migration after the baseline', () => {
  it('keeps the rules for a database with traffic', async () => {
    for (const name of later) {
      const text = await readFile(path.join(folder, name, 'migration.sql'), 'utf8')
      expect([name, brokenRules(text)]).toEqual([name, []])
    }
  })

  it.each([
    ['without a lock timeout', 'ALTER TABLE orders ADD COLUMN x text;', 'lock_timeout'],
    [
      'that builds an index and locks out writers',
      "SET lock_timeout = '5s';\nCREATE INDEX i ON orders (note);",
      'index',
    ],
    [
      'that builds an index concurrently beside another statement',
      "SET lock_timeout = '5s';\nCREATE INDEX CONCURRENTLY i ON orders (note);",
      'index',
    ],
    [
      'that locks orders before records',
      "SET lock_timeout = '5s';\nALTER TABLE orders ADD COLUMN x text;\nALTER TABLE idempotency_records ADD COLUMN x text;",
      'order of locks',
    ],
  ])('%s is found', (_, text, rule) => {
    expect(brokenRules(text)).toEqual([rule])
  })

  it('that keeps the rules is accepted', () => {
    expect(
      brokenRules(
        "SET lock_timeout = '5s';\nALTER TABLE idempotency_records ADD COLUMN x text;\nALTER TABLE orders ADD COLUMN x text;",
      ),
    ).toEqual([])
    expect(
      brokenRules("SET lock_timeout = '5s';\nCREATE TABLE notes (id text PRIMARY KEY);\nCREATE INDEX n ON notes (id);"),
    ).toEqual([])
    expect(brokenRules('-- for a list\nCREATE INDEX CONCURRENTLY i ON orders (note);')).toEqual([])
  })
})

describe('the migrations of the checkout', () => {
  it('are all applied in a database that was migrated', async () => {
    expect(await missingMigrations(store)).toEqual([])
  })

  it('are reported as missing when they failed, were rolled back or never ran', async () => {
    const set = (change: string) =>
      store.query(sql`UPDATE _prisma_migrations SET finished_at = CASE ${change} WHEN 'failed'
      THEN NULL ELSE now() END, rolled_back_at = CASE ${change} WHEN 'rolled back' THEN now() END`)
    for (const change of ['failed', 'rolled back']) {
      await set(change)
      expect(await missingMigrations(store)).toEqual([baseline, ...later])
    }
    await set('applied')
    expect(await missingMigrations(store)).toEqual([])
  })

  it('are not missing where a later release has applied more', async () => {
    await store.query(sql`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
      VALUES ('later', '', '99999999000000_later', now())`)
    expect(await missingMigrations(store)).toEqual([])
    await applyMigrations(root, database.url)
    await store.query(sql`DELETE FROM _prisma_migrations WHERE id = 'later'`)
  })

  it('are not applied to a database from before 0.1.0: the start is refused with one line', async () => {
    const old = await cloneDatabase()
    const oldStore = openStore(old.url, { max: 1, applicationName: 'migrations' })
    try {
      await oldStore.query(
        sql`UPDATE _prisma_migrations SET migration_name = '20261116000000_foundation' WHERE migration_name = ${baseline}`,
      )
      await expect(applyMigrations(root, old.url)).rejects.toThrow(
        /^This database was made by a version before 0\.1\.0.*$/,
      )
    } finally {
      await oldStore.close()
      await old.drop()
    }
  })
})

describe('the Prisma schema', () => {
  const diff = async (...ends: string[]) => {
    const prisma = path.join(root, 'node_modules', 'prisma', 'build', 'index.js')
    const { DIRECT_DATABASE_URL: _, ...environment } = process.env
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [prisma, 'migrate', 'diff', ...ends, '--exit-code'],
      {
        cwd: root,
        env: { ...environment, DATABASE_URL: database.url },
      },
    )
    return stdout
  }

  it('matches the migrated database without drift, partial indexes too', { timeout: 60_000 }, async () => {
    expect(await diff('--from-config-datasource', '--to-schema', 'prisma/schema.prisma')).toContain('No difference')
    await store.query(sql`DROP INDEX records_storms`)
    await store.query(
      sql`CREATE INDEX records_storms ON idempotency_records (last_replayed_at) WHERE replay_count >= 21`,
    )
    await expect(diff('--from-config-datasource', '--to-schema', 'prisma/schema.prisma')).rejects.toThrow()
  })

  it('matches the migrations without drift', { timeout: 60_000 }, async () => {
    expect(await diff('--from-migrations', 'prisma/migrations', '--to-schema', 'prisma/schema.prisma')).toContain(
      'No difference',
    )
  })
})
