// A dump into a database that has nothing yet, in one transaction: all of it is there afterwards, or none of it.
// It needs no superuser: whoever owns the tables may switch their triggers off, and checks and foreign keys stay on.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type pg from 'pg'
import { from } from 'pg-copy-streams'
import { migrationsOf } from '../lib/db/migrations'
import { migrateJobs } from '../lib/jobs/worker'
import { count, type Manifest, newHash, passing, readManifest, rowsFile } from './database-folder'
import { copied, readMigrations, readTables, SCHEMAS, SETTINGS, type Table } from './database-tables'
import type { Task } from './dump-database'
import { applyMigrations } from './migrations'
import { withClient } from './postgres-client'

/** The migrations write one row, the empty log's head. */
const WITH_FIRST_ROW = ['public.audit_head']
/** A node that is at work has locks of its own, and has written something by then. */
const LOCK_TIMEOUT = '10s'

export async function loadDatabase(task: Task & { root: string }): Promise<Manifest> {
  const { root, url, folder, signal } = task
  const manifest = await readManifest(folder)
  refuseOther(manifest.migrations, migrationsOf(root), 'this release')
  await applyMigrations(root, url, signal)
  await migrateJobs(url)
  await withClient(url, async (client) => {
    await client.query('BEGIN')
    // A connection that is closed before the commit takes everything back.
    await loadInto(client, manifest, task)
    await client.query('COMMIT')
    await client.query('ANALYZE')
  })
  return manifest
}

function refuseOther(wanted: readonly string[], found: readonly string[], whose: string): void {
  const missing = wanted.filter((name) => !found.includes(name))
  const more = found.filter((name) => !wanted.includes(name))
  if (missing.length > 0) throw new Error(`the dump has the migration ${missing.at(-1)}, which ${whose} has not`)
  if (more.length > 0)
    throw new Error(
      `${whose} has the migration ${more.at(-1)}, which the dump has not: load it with the release that made it`,
    )
}

async function loadInto(client: pg.Client, manifest: Manifest, { folder, say, signal }: Task): Promise<void> {
  await client.query(`${SETTINGS}; SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
  refuseOther(manifest.migrations, await readMigrations(client), 'the database')
  const tables = await readTables(client)
  await client.query(`LOCK TABLE ${tables.map(({ name }) => name).join(', ')} IN ACCESS EXCLUSIVE MODE`)
  await refuseContent(client, tables)
  refuseOtherColumns(manifest, tables)

  const restoreTriggers = await disableTriggers(client)
  for (const name of WITH_FIRST_ROW) await client.query(`DELETE FROM ${name}`)
  for (const table of manifest.tables) {
    await loadTable(client, table, folder, say, signal)
    if (table.rows > 0) say(`${table.name}: ${count(table.rows)} rows`)
  }
  // Whoever had taken up a job did so on the other server. The engine itself would wait four hours.
  await client.query(
    `SELECT graphile_worker.force_unlock_workers(ARRAY(
       SELECT DISTINCT locked_by FROM graphile_worker._private_jobs WHERE locked_by IS NOT NULL))`,
  )
  await restoreTriggers()
  for (const { name, value, called } of manifest.sequences)
    await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [name, value, called])
}

async function refuseContent(client: pg.Client, tables: readonly Table[]): Promise<void> {
  for (const { name } of tables.filter((table) => !WITH_FIRST_ROW.includes(table.name))) {
    const { rowCount } = await client.query(`SELECT FROM ${name} LIMIT 1`)
    if (rowCount) throw new Error(`the database is not empty: ${name} has rows`)
  }
}

function refuseOtherColumns(manifest: Manifest, tables: readonly Table[]): void {
  const shape = ({ name, columns }: Table) => `${name} (${columns.join(', ')})`
  const here = new Set(tables.map(shape))
  const other = manifest.tables.find((table) => !here.has(shape(table)))
  if (other) throw new Error(`${other.name} has other columns in the dump than in the database`)
}

/** @returns what switches each on again as it was: some of them fire under replication, too */
async function disableTriggers(client: pg.Client): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ table: string; trigger: string; enabled: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS table, quote_ident(t.tgname) AS trigger, t.tgenabled AS enabled
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND n.nspname = ANY ($1)`,
    [SCHEMAS],
  )
  for (const { table, trigger } of rows) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ${trigger}`)
  const how: Record<string, string> = { O: 'ENABLE', A: 'ENABLE ALWAYS', R: 'ENABLE REPLICA' }
  return async () => {
    for (const { table, trigger, enabled } of rows)
      await client.query(`ALTER TABLE ${table} ${how[enabled]} TRIGGER ${trigger}`)
  }
}

async function loadTable(
  client: pg.Client,
  table: Manifest['tables'][number],
  folder: string,
  say: Task['say'],
  signal?: AbortSignal,
): Promise<void> {
  const { name } = table
  const hash = newHash()
  const file = createReadStream(rowsFile(folder, name))
  const rows = client.query(from(`${copied(table)} FROM STDIN`))
  try {
    await pipeline(file, passing(hash, name, say), createGunzip(), rows, { signal })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(code === 'ENOENT' ? `the dump has no file for ${name}` : `${name}: ${message}`, { cause: error })
  }
  if (hash.digest('hex') !== table.sha256 || rows.rowCount !== table.rows)
    throw new Error(`the file for ${name} is damaged: it is not what the dump's manifest says`)
}
