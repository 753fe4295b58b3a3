// As many records as one likes in a few minutes: the rows first, every index that is not a constraint's afterwards, which
// is how PostgreSQL sorts once instead of inserting ten million times. What comes out is what traffic would have left.
import pg from 'pg'
import { fillRecords } from '../console/many-records'

const TABLES = ['idempotency_records', 'orders', 'refunds', 'ledger_entries']
/** More than there are cores to write and sort on gains nothing. */
const WORKERS = 4

/** @param openLike as much work is open as with so many: what is compared is the rest */
export async function fillScaled(url: string, count: number, openLike = count): Promise<void> {
  const db = new pg.Pool({ connectionString: url, max: WORKERS })
  try {
    const { rows: indexes } = await db.query<{ name: string; definition: string }>(
      `SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS definition
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       WHERE i.indrelid = ANY($1::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
       ORDER BY i.indrelid, c.relname`,
      [TABLES],
    )
    for (const { name } of indexes) await db.query(`DROP INDEX ${pg.escapeIdentifier(name)}`)
    await fillRecords(db, count, { workers: WORKERS, openLike })
    await Promise.all(
      Array.from({ length: WORKERS }, async () => {
        for (let next = indexes.pop(); next; next = indexes.pop()) await db.query(next.definition)
      }),
    )
    await db.query(`VACUUM (ANALYZE) ${TABLES.join(', ')}`)
  } finally {
    await db.end()
  }
}
