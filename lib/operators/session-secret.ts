// What sessions are signed with: made by whichever node comes first, the same for all of them ever after.
import { randomBytes } from 'node:crypto'
import sql from 'sql-template-tag'
import type { Store } from '../db/store'

const NAME = 'session_signing'

export async function sessionSecret(store: Pick<Store, 'query'>): Promise<string> {
  const candidate = randomBytes(32).toString('base64url')
  await store.query(sql`INSERT INTO secrets (name, value) VALUES (${NAME}, ${candidate}) ON CONFLICT (name) DO NOTHING`)
  const [row] = await store.query<{ value: string }>(sql`SELECT value FROM secrets WHERE name = ${NAME}`)
  return row!.value
}
