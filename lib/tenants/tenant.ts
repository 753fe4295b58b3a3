// A tenant as operators see it: what it is called, what it may do, and what it has.
import sql, { empty, raw } from 'sql-template-tag'
import type { Store } from '../db/store'
import { type Listed, listed, type Page } from '../operators/page'

export interface TenantSettings {
  name: string
  /** Null: each endpoint's own. */
  retentionHours: number | null
  newKeysPerMinute: number
  liveKeyCap: number
  disabled: boolean
}

export interface TenantView extends TenantSettings {
  id: string
  createdAt: string
}

export interface ListedTenant extends TenantView {
  /** Those that are not revoked. */
  apiKeyCount: number
  /** Idempotency keys that are not expired: what the cap counts, as of half a second ago. */
  liveKeyCount: number
}

export interface ApiKeyView {
  id: string
  name: string
  createdAt: string
  revokedAt: string | null
  lastUsedAt: string | null
}

export interface TenantDetail extends ListedTenant {
  apiKeys: ApiKeyView[]
}

/** Over `t`, in the members of the API: what is answered is what the audit log says. */
export const SETTINGS = raw(`jsonb_build_object('name', t.name, 'retentionHours', t.retention_hours,
  'newKeysPerMinute', t.new_keys_per_minute, 'liveKeyCap', t.live_key_cap, 'disabled', t.disabled_at IS NOT NULL)`)

export interface TenantRow {
  id: string
  settings: TenantSettings
  created_at: Date
}

export const toTenant = ({ id, settings, created_at }: TenantRow): TenantView => ({
  id,
  ...settings,
  createdAt: created_at.toISOString(),
})

interface ListedRow extends TenantRow {
  api_keys: string
  live_keys: string
}

const LISTED = raw(`t.id, ${SETTINGS.sql} AS settings, t.created_at,
  (SELECT count(*) FROM api_keys k WHERE k.tenant_id = t.id AND k.revoked_at IS NULL) AS api_keys,
  coalesce((SELECT l.count FROM tenant_live_keys l WHERE l.tenant_id = t.id), 0) AS live_keys`)

const toListed = (row: ListedRow): ListedTenant => ({
  ...toTenant(row),
  apiKeyCount: Number(row.api_keys),
  liveKeyCount: Number(row.live_keys),
})

/** Newest first. */
export async function listTenants(store: Pick<Store, 'query'>, { limit, after }: Page): Promise<Listed<ListedTenant>> {
  const rest = after ? sql`WHERE (t.created_at, t.id) < (${after.createdAt}::timestamptz, ${after.id})` : empty
  const rows = await store.query<ListedRow>(sql`
    SELECT ${LISTED} FROM tenants t ${rest} ORDER BY t.created_at DESC, t.id DESC LIMIT ${limit + 1}::int`)
  return listed(rows.map(toListed), limit)
}

interface ApiKeyRow {
  id: string
  name: string
  created_at: Date
  revoked_at: Date | null
  last_used_at: Date | null
}

/** With all of its API keys, revoked ones too, newest first; never a hash. */
export async function findTenant(store: Pick<Store, 'query'>, id: string): Promise<TenantDetail | null> {
  const [row] = await store.query<ListedRow>(sql`SELECT ${LISTED} FROM tenants t WHERE t.id = ${id}`)
  if (!row) return null
  const keys = await store.query<ApiKeyRow>(sql`
    SELECT id, name, created_at, revoked_at, last_used_at FROM api_keys
    WHERE tenant_id = ${id} ORDER BY created_at DESC, id DESC`)
  return {
    ...toListed(row),
    apiKeys: keys.map((key) => ({
      id: key.id,
      name: key.name,
      createdAt: key.created_at.toISOString(),
      revokedAt: key.revoked_at?.toISOString() ?? null,
      lastUsedAt: key.last_used_at?.toISOString() ?? null,
    })),
  }
}
