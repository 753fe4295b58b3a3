// Tokens of scripts: made with a secret that is shown once and stored as its hash, revoked and never deleted, so that
// what was done with one can still be told.
import sql, { empty, type Sql } from 'sql-template-tag'
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
  /** The person with whom it ends. Null: it was made with the environment's token, and ends by being revoked only. */
  owner: { id: string; name: string } | null
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
  owner_id: string | null
  owner_name: string
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
  owner: row.owner_id === null ? null : { id: row.owner_id, name: row.owner_name },
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
  revokedAt: row.revoked_at?.toISOString() ?? null,
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
})

/** Newest first, revoked ones too; never a hash. */
export async function listTokens(store: Pick<Store, 'query'>, { limit, after }: Page): Promise<Listed<TokenView>> {
  const rest = after ? sql`WHERE (t.created_at, t.id) < (${after.createdAt}::timestamptz, ${after.id})` : empty
  const rows = await store.query<Row>(sql`
    ${selected(sql`operator_tokens`)} ${rest} ORDER BY t.created_at DESC, t.id DESC LIMIT ${limit + 1}::int`)
  return listed(rows.map(toView), limit)
}

const selected = (from: Sql): Sql => sql`
  SELECT t.id, t.name, t.role, t.created_by, t.owner_id, t.created_at, t.expires_at, t.revoked_at, t.last_used_at,
    coalesce(o.name, b.name, t.created_by) AS created_by_name, coalesce(p.name, t.owner_id) AS owner_name
  FROM ${from} t
  LEFT JOIN operators o ON o.id = t.created_by
  LEFT JOIN operator_tokens b ON b.id = t.created_by
  LEFT JOIN operators p ON p.id = t.owner_id`

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
  const actor = call.actor.id
  const owner = actor.startsWith('opr_')
    ? sql`${actor}`
    : sql`(SELECT owner_id FROM operator_tokens WHERE id = ${actor})`
  // The owner is locked: who is disabled afterwards ends this token, too, and with one who just was it is made as ended.
  const [made] = await store.query<{ expires_at: Date | null }>(sql`
    WITH owner AS MATERIALIZED (
      SELECT id FROM operators WHERE id = ${owner} AND disabled_at IS NULL FOR SHARE
    ), made AS (
      INSERT INTO operator_tokens (id, name, role, hash, created_by, owner_id, revoked_at, expires_at)
      SELECT ${id}, ${name}, ${role}, ${hashSecret(secret)}, ${actor}, owner_id,
        CASE WHEN owner_id IS NOT NULL AND NOT EXISTS (SELECT FROM owner) THEN clock_timestamp() END,
        clock_timestamp() + ${expiresInDays}::int * interval '1 day'
      FROM (SELECT ${owner} AS owner_id) wanted
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

export interface TokenChange {
  id: string
  ownerId: string
  reason?: string
}

/** Hands a token over to another person, with whom it ends from now on. It goes on working meanwhile. */
export async function updateToken(
  store: Pick<Store, 'query'>,
  call: Call,
  { id, ownerId, reason }: TokenChange,
): Promise<TokenView | Refused> {
  const owner = (of: Sql): Sql => sql`jsonb_build_object('name', given.name, 'owner', ${of})`
  const entry = { ...call, action: 'token.hand_over', target: id, reason }
  // The person is locked before the token, as whoever disables a person does.
  const [row] = await store.query<Row & { heir: string | null }>(sql`
    WITH heir AS MATERIALIZED (
      SELECT id FROM operators WHERE id = ${ownerId} AND disabled_at IS NULL FOR SHARE
    ), old AS MATERIALIZED (
      SELECT t.id, t.owner_id FROM heir, operator_tokens t WHERE t.id = ${id} AND t.revoked_at IS NULL FOR UPDATE OF t
    ), given AS (
      UPDATE operator_tokens t SET owner_id = heir.id FROM old, heir WHERE t.id = old.id
      RETURNING t.*, old.owner_id AS before
    ), ${audited(entry, sql`given WHERE before IS DISTINCT FROM owner_id`, owner(sql`given.owner_id`), owner(sql`given.before`))}
    SELECT heir.id AS heir, given.* FROM (VALUES (1)) one LEFT JOIN heir ON true LEFT JOIN (${selected(sql`given`)}) given ON true`)
  if (row!.heir === null)
    return refuse('invalid_request', { issues: [{ path: 'ownerId', message: 'is no person who may sign in' }] })
  return row!.id === null ? refuse('not_found') : toView(row!)
}
