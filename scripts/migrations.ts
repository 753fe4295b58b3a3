// The database has every migration before anything is served. `prisma migrate deploy` does that, but its start-up costs
// seconds, so it runs only where a look at its own table does not already show that there is nothing to do.
import path from 'node:path'
import pg from 'pg'
import { migrationsOf } from '../lib/db/migrations'
import { withClient } from './postgres-client'
import { run } from './run.mjs'

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_DATABASE = '3D000'
/** The first migration of every database from before the first release. */
const BEFORE_FIRST_RELEASE = '20261116000000_foundation'

export async function applyMigrations(root: string, url: string, signal?: AbortSignal): Promise<void> {
  if (await upToDate(root, url)) return
  const prisma = path.join(root, 'node_modules', 'prisma', 'build', 'index.js')
  const env = { ...process.env, DATABASE_URL: url, DIRECT_DATABASE_URL: url }
  await run('prisma migrate deploy', process.execPath, [prisma, 'migrate', 'deploy'], { cwd: root, signal, env })
}

async function upToDate(root: string, url: string): Promise<boolean> {
  const applied = await appliedMigrations(url)
  if (applied.has(BEFORE_FIRST_RELEASE)) {
    throw new Error(
      'This database was made by a version before 0.1.0 and can’t be upgraded. Start with an empty one: name another database, or remove .data/.',
    )
  }
  return migrationsOf(root).every((name) => applied.has(name))
}

async function appliedMigrations(url: string): Promise<Set<string>> {
  // Prisma keeps its table in the schema that the URL names.
  const schema = new URL(url).searchParams.get('schema') ?? 'public'
  const table = `${pg.escapeIdentifier(schema)}._prisma_migrations`
  const applied = `SELECT migration_name FROM ${table} WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`
  try {
    const { rows } = await withClient(url, (client) => client.query<{ migration_name: string }>(applied))
    return new Set(rows.map((row) => row.migration_name))
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === UNDEFINED_TABLE || code === UNDEFINED_DATABASE) return new Set()
    throw new Error(`the database can't be reached: ${message || code}`, { cause: error })
  }
}
