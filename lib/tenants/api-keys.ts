// A tenant's API keys: made with a secret that is shown once and stored as its hash, revoked and never deleted, so
// that what was done with one can still be told.
import sql from 'sql-template-tag'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import { hashSecret, newSecret } from '../secret'

export interface NewApiKey {
  tenantId: string
  name: string
  reason?: string
}

export interface CreatedApiKey {
  id: string
  name: string
  secret: string
}

export interface RevokedApiKey {
  tenantId: string
  id: string
  reason?: string
}

export async function createApiKey(
  store: Pick<Store, 'query'>,
  call: Call,
  { tenantId, name, reason }: NewApiKey,
): Promise<CreatedApiKey | Refused> {
  const id = call.newId('key')
  const secret = newSecret('oo_live')
  const entry = { ...call, action: 'api_key.create', target: id, reason, after: { tenantId, name } }
  // The key's reference to its tenant is checked when all else is done: not to wait for the tenant with the audit log
  // in hand, while whoever changes the tenant waits for the log, the tenant is held from the start.
  const [row] = await store.query<{ tenant: boolean; made: boolean }>(sql`
    WITH tenant AS (SELECT id FROM tenants WHERE id = ${tenantId} FOR KEY SHARE), made AS (
      INSERT INTO api_keys (id, tenant_id, name, hash) SELECT ${id}, tenant.id, ${name}, ${hashSecret(secret)}::bytea
      FROM tenant ON CONFLICT (id) DO NOTHING RETURNING id
    ), ${audited(entry, sql`made`)}
    SELECT EXISTS (SELECT FROM tenant) AS tenant, EXISTS (SELECT FROM made) AS made`)
  if (!row?.tenant) return refuse('not_found')
  // Made by this very call before its node died: the secret died with it.
  return row.made ? { id, name, secret } : refuse('already_created')
}

/** Of what is revoked already there is nothing left to do. A key is found under its own tenant only. */
export async function revokeApiKey(
  store: Pick<Store, 'query'>,
  call: Call,
  { tenantId, id, reason }: RevokedApiKey,
): Promise<null | Refused> {
  const before = sql`jsonb_build_object('tenantId', revoked.tenant_id, 'name', revoked.name, 'revokedAt', NULL)`
  const after = sql`jsonb_build_object('revokedAt', revoked.revoked_at)`
  const [key] = await store.query(sql`
    WITH revoked AS (
      UPDATE api_keys SET revoked_at = clock_timestamp()
      WHERE id = ${id} AND tenant_id = ${tenantId} AND revoked_at IS NULL RETURNING tenant_id, name, revoked_at
    ), ${audited({ ...call, action: 'api_key.revoke', target: id, reason }, sql`revoked`, after, before)}
    SELECT id FROM api_keys WHERE id = ${id} AND tenant_id = ${tenantId}`)
  return key ? null : refuse('not_found')
}
