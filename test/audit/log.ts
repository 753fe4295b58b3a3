// An audit log of its own with a few entries in it, and hands that do what a person with psql could.
import pg from 'pg'
import { appendAudit, type NewEntry } from '../../lib/audit/append'
import { openStore, type Store } from '../../lib/db/store'
import { cloneDatabase } from '../support/database'

export const entryOf = (changes: Partial<NewEntry> = {}): NewEntry => ({
  actor: { id: 'opr_1', name: 'Ada' },
  requestId: 'req_1',
  action: 'key.resolve',
  target: 'idem_1',
  reason: 'The provider’s support found the charge: "ch_1".',
  before: { state: 'unknown', version: 3 },
  after: { state: 'completed', version: 4 },
  ...changes,
})

/** The guards go away and come back, as the owner of the tables can make them. */
export async function tamper(db: Pick<pg.Pool, 'query'>, ...statements: string[]): Promise<void> {
  const guarded = ['audit_entries', 'audit_head']
  for (const table of guarded) await db.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
  for (const statement of statements) await db.query(statement)
  for (const table of guarded) await db.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`)
}

export async function openLog() {
  const database = await cloneDatabase()
  const store = openStore(database.url, { max: 8, applicationName: 'audit-test' })
  const db = new pg.Pool({ connectionString: database.url, max: 4 })
  db.on('error', () => {})
  return {
    url: database.url,
    store,
    db,
    append: (changes?: Partial<NewEntry>) => appendAudit(store, entryOf(changes)),
    async close(): Promise<void> {
      await store.close()
      await db.end()
      await database.drop()
    },
  }
}

export type Log = Awaited<ReturnType<typeof openLog>>

/** So many entries, one after the other, each about a key of its own. */
export async function write(store: Pick<Store, 'query'>, count: number): Promise<void> {
  for (let number = 1; number <= count; number++) await appendAudit(store, entryOf({ target: `idem_${number}` }))
}
