// Everything that Onceover keeps, as one snapshot, into a folder of its own. Nodes may go on working meanwhile: what
// they commit after the snapshot is not in it.
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type pg from 'pg'
import { to } from 'pg-copy-streams'
import { count, type Manifest, manifestFile, newHash, passing, rowsFile } from './database-folder'
import { copied, readMigrations, readSequences, readTables, SETTINGS, type Table } from './database-tables'
import { withClient } from './postgres-client'

export interface Task {
  url: string
  folder: string
  say: (line: string) => void
  signal?: AbortSignal
}

export async function dumpDatabase(task: Task): Promise<Manifest> {
  const { url, folder } = task
  if (await stat(folder).catch(() => null)) throw new Error(`${folder} is there already`)
  const draft = `${folder}.part`
  await rm(draft, { recursive: true, force: true })
  // It holds orders, password hashes and the secret of the sessions.
  await mkdir(draft, { recursive: true, mode: 0o700 })
  try {
    const manifest = await withClient(url, (client) => dumpInto(draft, client, task))
    await writeFile(manifestFile(draft), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true })
    await rename(draft, folder)
    return manifest
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

async function dumpInto(draft: string, client: pg.Client, { say, signal }: Task): Promise<Manifest> {
  // Before the snapshot: RESTORED_FROM may be earlier than the last commit that is kept, never later.
  const { rows } = await client.query<{ now: Date; server: string; nodes: number }>(
    `SELECT clock_timestamp() AS now, current_setting('server_version') AS server,
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'onceover')::int
         AS nodes`,
  )
  const { now, server, nodes } = rows[0]!
  if (nodes > 0) say('Nodes are at work on this database: what they commit from now on is not in the dump.')
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  await client.query(SETTINGS)
  const tables: Manifest['tables'] = []
  for (const table of await readTables(client)) {
    const written = await dumpTable(draft, client, table, say, signal)
    if (written.rows > 0) say(`${table.name}: ${count(written.rows)} rows`)
    tables.push({ ...table, ...written })
  }
  const migrations = await readMigrations(client)
  const sequences = await readSequences(client)
  await client.query('COMMIT')
  return { format: 1, takenAt: now.toISOString(), server, migrations, tables, sequences }
}

async function dumpTable(
  draft: string,
  client: pg.Client,
  table: Table,
  say: Task['say'],
  signal?: AbortSignal,
): Promise<{ rows: number; sha256: string }> {
  const hash = newHash()
  const rows = client.query(to(`${copied(table)} TO STDOUT`))
  const file = createWriteStream(rowsFile(draft, table.name), { mode: 0o600, flush: true })
  await pipeline(rows, createGzip(), passing(hash, table.name, say), file, { signal })
  return { rows: rows.rowCount, sha256: hash.digest('hex') }
}
