// Tokens of scripts: made with a secret that is shown once and stored as its hash, revoked and never deleted, so that
// what was done with one can still be told.
import sql, { empty } from 'sql-template-tag'
import { audited } from '../audit/append'
import type { Store } from '../db/store'
import { hashSecret, newSecret } from '../secret'
import type { Call } from './actor'
import { type Listed, listed, type Page } from './page'
import { type Refused, refuse } from './refusal'
import type { Role } from './role'

export interface TokenView {
  id: string
  name: string
  role: Role
  createdBy: { id: string; name: string }
  createdAt: string
  /** Null: never. */
  expiresAt: string | null
  revokedAt: string | null
  /** To the minute. */
  lastUsedAt: string | null
}

interface Row {
  id: string
  name: string
  role: Role
  created_by: string
  created_by_name: string
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
}

const toView = (row: Row): TokenView => ({
  id: row.id,
  name: row.name,
  role: row.role,
  createdBy: { id: row.created_by, name: row.created_by_name },
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
  revokedAt: row.revoked_at?.toISOString() ?? null,
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
})

/** Newest first, revoked ones too; never a hash. */
export async function listTokens(store: Pick<Store, 'query'>, { limit, after }: Page): Promise<Listed<TokenView>> {
  const rest = after ? sql`WHERE (t.created_at, t.id) < (${after.createdAt}::timestamptz, ${after.id})` : empty
  const rows = await store.query<Row>(sql`
    SELECT t.id, t.name, t.role, t.created_by, t.created_at, t.expires_at, t.revoked_at, t.last_used_at,
      coalesce(o.name, b.name, t.created_by) AS created_by_name
    FROM operator_tokens t
    LEFT JOIN operators o ON o.id = t.created_by
    LEFT JOIN operator_tokens b ON b.id = t.created_by
    ${rest} ORDER BY t.created_at DESC, t.id DESC LIMIT ${limit + 1}::int`)
  return listed(rows.map(toView), limit)
}

export interface NewToken {
  name: string
  role: Role
  /** Null: it never runs out. */
  expiresInDays: number | null
  reason?: string
}

export interface CreatedToken {
  id: string
  name: string
  role: Role
  expiresAt: string | null
  secret: string
}

export async function createToken(
  store: Pick<Store, 'query'>,
  call: Call,
  { name, role, expiresInDays, reason }: NewToken,
): Promise<CreatedToken | Refused> {
  const id = call.newId('tok')
  const secret = newSecret('oo_op')
  const after = sql`jsonb_build_object('name', made.name, 'role', made.role, 'expiresAt', made.expires_at)`
  const [made] = await store.query<{ expires_at: Date | null }>(sql`
    WITH made AS (
      INSERT INTO operator_tokens (id, name, role, hash, created_by, expires_at)
      VALUES (${id}, ${name}, ${role}, ${hashSecret(secret)}, ${call.actor.id},
        clock_timestamp() + ${expiresInDays}::int * interval '1 day')
      ON CONFLICT (id) DO NOTHING RETURNING name, role, expires_at
    ), ${audited({ ...call, action: 'token.create', target: id, reason }, sql`made`, after)}
    SELECT expires_at FROM made`)
  // Made by this very call before its node died: the secret died with it.
  if (!made) return refuse('already_created')
  return { id, name, role, expiresAt: made.expires_at?.toISOString() ?? null, secret }
}

/** Of what is revoked already there is nothing left to do. */
export async function revokeToken(
  store: Pick<Store, 'query'>,
  call: Call,
  { id, reason }: { id: string; reason?: string },
): Promise<null | Refused> {
  const before = sql`jsonb_build_object('name', revoked.name, 'role', revoked.role, 'revokedAt', NULL)`
  const after = sql`jsonb_build_object('name', revoked.name, 'role', revoked.role, 'revokedAt', revoked.revoked_at)`
  const [token] = await store.query(sql`
    WITH revoked AS (
      UPDATE operator_tokens SET revoked_at = clock_timestamp() WHERE id = ${id} AND revoked_at IS NULL
      RETURNING name, role, revoked_at
    ), ${audited({ ...call, action: 'token.revoke', target: id, reason }, sql`revoked`, after, before)}
    SELECT id FROM operator_tokens WHERE id = ${id}`)
  return token ? null : refuse('not_found')
}
