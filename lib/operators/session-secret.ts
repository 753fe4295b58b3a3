// What sessions are signed with, the same on every node: AUTH_SECRET, or without it one that the first node makes and
// stores.
import { randomBytes } from 'node:crypto'
import sql from 'sql-template-tag'
import type { Store } from '../db/store'

const NAME = 'session_signing'

export async function sessionSecret(store: Pick<Store, 'query'>, given?: string): Promise<string> {
  if (given !== undefined) return given
  const candidate = randomBytes(32).toString('base64url')
  await store.query(sql`INSERT INTO secrets (name, value) VALUES (${NAME}, ${candidate}) ON CONFLICT (name) DO NOTHING`)
  const [row] = await store.query<{ value: string }>(sql`SELECT value FROM secrets WHERE name = ${NAME}`)
  return row!.value
}
