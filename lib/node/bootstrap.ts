// The first tenant, its API key and the first admin, made when they are missing. Several nodes may start at once on
// an empty database: an advisory lock lets one of them do it. A secret is returned by the one start that made it.
import { randomBytes } from 'node:crypto'
import { hashPassword } from 'better-auth/crypto'
import type { Config } from '../config'
import { newId } from '../db/id'
import type { Store } from '../db/store'
import { hashSecret, newSecret } from '../tenants/secret'

/** Any number, as long as nothing else in the database uses it. */
const BOOTSTRAP_LOCK = 7_306_501

export interface FirstSecrets {
  /** Null when it was there already, or was given by the environment. */
  apiKey: string | null
  admin: { email: string; password: string } | null
}

export async function bootstrap(store: Store, settings: Config): Promise<FirstSecrets> {
  const client = await store.pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock($1)', [BOOTSTRAP_LOCK])
    const query = async (text: string, values: unknown[]) => (await client.query(text, values)).rows
    const made = { apiKey: await firstApiKey(query, settings), admin: await firstAdmin(query, settings) }
    await client.query('COMMIT')
    return made
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

async function firstApiKey(query: Query, settings: Config): Promise<string | null> {
  await query(`INSERT INTO tenants (id, name) VALUES ($1, 'demo') ON CONFLICT (name) DO NOTHING`, [newId('ten')])
  const [demo] = await query(`SELECT id FROM tenants WHERE name = 'demo'`, [])
  const [existing] = await query('SELECT 1 FROM api_keys WHERE tenant_id = $1', [demo!.id])
  if (existing && !settings.demoApiKey) return null
  const secret = settings.demoApiKey ?? newSecret('oo_demo')
  // A key that was given by the environment and revoked since stays revoked.
  await query(
    `INSERT INTO api_keys (id, tenant_id, name, hash) VALUES ($1, $2, 'first key', $3) ON CONFLICT (hash) DO NOTHING`,
    [newId('key'), demo!.id, hashSecret(secret)],
  )
  return settings.demoApiKey ? null : secret
}

async function firstAdmin(query: Query, settings: Config): Promise<FirstSecrets['admin']> {
  const [existing] = await query(`SELECT 1 FROM operators WHERE role = 'admin'`, [])
  if (existing) return null
  const email = (settings.adminEmail ?? 'admin@onceover.local').toLowerCase()
  const password = settings.adminPassword ?? randomBytes(12).toString('base64url')
  const id = newId('opr')
  await query(
    `INSERT INTO operators (id, name, email, email_verified, role) VALUES ($1, 'First admin', $2, true, 'admin')`,
    [id, email],
  )
  await query(
    `INSERT INTO operator_accounts (id, operator_id, account_id, provider_id, password) VALUES ($1, $2, $2, 'credential', $3)`,
    [newId('acc'), id, await hashPassword(password)],
  )
  return settings.adminPassword ? null : { email, password }
}
