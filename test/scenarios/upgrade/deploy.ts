// `prisma migrate deploy` as an operator runs it, of all migrations or of the first release's one. That one is kept here
// as it was released (first-release.sql): databases were made by it, whatever the file of that name says now.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { runSql } from '../../support/tenant'

const root = path.resolve(import.meta.dirname, '..', '..', '..')
const folder = path.join(root, 'prisma', 'migrations')

const FOUNDATION = '20261116000000_foundation'
const FIRST_RELEASE = path.join(import.meta.dirname, 'first-release.sql')

export const migrationFile = (name: string) =>
  name === FOUNDATION ? FIRST_RELEASE : path.join(folder, name, 'migration.sql')

export async function prisma(url: string, ...args: string[]): Promise<string> {
  const cli = path.join(root, 'node_modules', 'prisma', 'build', 'index.js')
  const env = { ...process.env, DATABASE_URL: url, DIRECT_DATABASE_URL: url }
  const { stdout } = await promisify(execFile)(process.execPath, [cli, ...args], { cwd: root, env })
  return stdout
}

export const deploy = (url: string): Promise<string> => prisma(url, 'migrate', 'deploy')

/** The database of the first release: its only migration, as it stood then. */
export async function deployFirstRelease(url: string): Promise<void> {
  const older = await mkdtemp(path.join(os.tmpdir(), 'onceover-older-'))
  const migrations = path.join(older, 'migrations')
  try {
    await mkdir(path.join(migrations, FOUNDATION), { recursive: true })
    await cp(path.join(folder, 'migration_lock.toml'), path.join(migrations, 'migration_lock.toml'))
    await cp(FIRST_RELEASE, path.join(migrations, FOUNDATION, 'migration.sql'))
    const engine = path.join(root, 'scripts', 'prisma-schema-engine.mjs')
    const settings = {
      schema: path.join(root, 'prisma', 'schema.prisma'),
      migrations: { path: migrations },
      datasource: { url },
    }
    const config = path.join(older, 'prisma.config.mjs')
    await writeFile(
      config,
      `process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= ${JSON.stringify(engine)}; export default ${JSON.stringify(settings)}`,
    )
    await prisma(url, 'migrate', 'deploy', '--config', config)
  } finally {
    await rm(older, { recursive: true, force: true })
  }
}

/** All that a schema is and `migrate diff` does not see: constraints, triggers, functions, indexes as they were made. */
export async function catalogue(url: string): Promise<string[]> {
  const rows = await runSql<{ made: string }>(
    url,
    `SELECT conrelid::regclass || ' ' || conname || ' ' || convalidated::text || ' ' || pg_get_constraintdef(oid) AS made
     FROM pg_constraint WHERE connamespace IN ('public'::regnamespace, 'sandbox'::regnamespace)
     UNION ALL SELECT pg_get_triggerdef(oid) || ' ' || tgenabled::text FROM pg_trigger
       WHERE NOT tgisinternal AND tgrelid::regclass::text !~ 'graphile'
     UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
     UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname IN ('public', 'sandbox')
     ORDER BY 1`,
  )
  return rows.map(({ made }) => made)
}
