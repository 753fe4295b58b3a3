// Tenants as an operator would make them, straight in the database: the operator API is not what is tested here.
import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'

export interface TestTenant {
  id: string
  apiKey: string
}

interface Settings {
  retentionHours?: number
  newKeysPerMinute?: number
  liveKeyCap?: number
}

export async function runSql<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows as Row[]
  } finally {
    await client.end()
  }
}

export async function addTenant(databaseUrl: string, settings: Settings = {}): Promise<TestTenant> {
  const id = `ten_${randomBytes(8).toString('hex')}`
  await runSql(
    databaseUrl,
    `INSERT INTO tenants (id, name, retention_hours, new_keys_per_minute, live_key_cap)
     VALUES ($1, $1, $2, coalesce($3, 600000), coalesce($4, 10000000))`,
    [id, settings.retentionHours ?? null, settings.newKeysPerMinute ?? null, settings.liveKeyCap ?? null],
  )
  return { id, apiKey: await addApiKey(databaseUrl, id) }
}

export async function addApiKey(databaseUrl: string, tenantId: string): Promise<string> {
  const apiKey = `oo_live_${randomBytes(20).toString('hex')}`
  await runSql(databaseUrl, `INSERT INTO api_keys (id, tenant_id, name, hash) VALUES ($1, $2, 'a test', $3)`, [
    `key_${randomBytes(8).toString('hex')}`,
    tenantId,
    createHash('sha256').update(apiKey).digest(),
  ])
  return apiKey
}
