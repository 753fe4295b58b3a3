// A database is ready when every migration of the checkout is applied. One that has later migrations too is ready as well:
// nodes of the release before serve on it.
import { readdirSync } from 'node:fs'
import path from 'node:path'
import sql from 'sql-template-tag'
import type { Store } from './store'

export function migrationsOf(root: string): string[] {
  const entries = readdirSync(path.join(root, 'prisma', 'migrations'), { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
}

// Read once: an update of the checkout must not make a running node of the release before unready.
const expected = migrationsOf(process.cwd())

export async function missingMigrations(store: Store): Promise<string[]> {
  const rows = await store.query<{ migration_name: string }>(sql`
    SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`)
  const applied = new Set(rows.map((row) => row.migration_name))
  return expected.filter((name) => !applied.has(name))
}
