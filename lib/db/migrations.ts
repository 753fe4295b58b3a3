// Is this database the one that this build was made for? Its migrations are compiled in, so a node in front of an
// older database says so instead of failing request by request.
import sql from 'sql-template-tag'
import { EXPECTED_MIGRATIONS } from './expected-migrations'
import type { Store } from './store'

export async function missingMigrations(store: Store): Promise<string[]> {
  const rows = await store.query<{ migration_name: string }>(sql`
    SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`)
  const applied = new Set(rows.map((row) => row.migration_name))
  return EXPECTED_MIGRATIONS.filter((name) => !applied.has(name))
}
