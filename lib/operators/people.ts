// Operators: who they are, what they may do, whether they may. A change commits with its audit entry; that an admin is
// left, and that sessions end with the right to them, is kept by the database (see the migration operator_guards).
import { randomBytes } from 'node:crypto'
import { hashPassword } from 'better-auth/crypto'
import sql, { empty, raw } from 'sql-template-tag'
import { audited } from '../audit/append'
import { violatedConstraint } from '../db/sqlstate'
import type { Store } from '../db/store'
import type { Call } from './actor'
import { type Listed, listed, type Page } from './page'
import { type Refused, refuse } from './refusal'
import type { Role } from './role'

export interface OperatorView {
  id: string
  name: string
  email: string
  role: Role
  disabled: boolean
  createdAt: string
}

export interface ListedOperator extends OperatorView {
  /** Where they are signed in. */
  sessionCount: number
  /** Those that still work: they end with this person. */
  tokens: { id: string; name: string }[]
}

interface Row extends Omit<OperatorView, 'createdAt'> {
  createdAt: Date
}

const COLUMNS = raw('o.id, o.name, o.email, o.role, o.disabled_at IS NOT NULL AS disabled, o.created_at AS "createdAt"')

const toView = ({ id, name, email, role, disabled, createdAt }: Row): OperatorView => ({
  id,
  name,
  email,
  role,
  disabled,
  createdAt: createdAt.toISOString(),
})

export async function listOperators(
  store: Pick<Store, 'query'>,
  { limit, after }: Page,
): Promise<Listed<ListedOperator>> {
  const rest = after ? sql`WHERE (o.created_at, o.id) < (${after.createdAt}::timestamptz, ${after.id})` : empty
  const rows = await store.query<Row & Pick<ListedOperator, 'sessionCount' | 'tokens'>>(sql`
    SELECT ${COLUMNS}, (
      SELECT count(*)::int FROM operator_sessions s WHERE s.operator_id = o.id AND s.expires_at > clock_timestamp()
    ) AS "sessionCount", (
      SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name) ORDER BY t.name, t.id), '[]')
      FROM operator_tokens t WHERE t.owner_id = o.id AND t.revoked_at IS NULL
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    ) AS tokens
    FROM operators o ${rest} ORDER BY o.created_at DESC, o.id DESC LIMIT ${limit + 1}::int`)
  return listed(
    rows.map((row) => ({ ...toView(row), sessionCount: row.sessionCount, tokens: row.tokens })),
    limit,
  )
}

export interface NewOperator {
  name: string
  email: string
  role: Role
  /** One is made up where none is given. */
  password?: string
  reason?: string
}

export interface CreatedOperator {
  id: string
  name: string
  email: string
  role: Role
  /** Null where it was given. */
  password: string | null
}

export async function createOperator(
  store: Pick<Store, 'query'>,
  call: Call,
  { name, email: given, role, password, reason }: NewOperator,
): Promise<CreatedOperator | Refused> {
  const id = call.newId('opr')
  const email = given.toLowerCase()
  const generated = password === undefined ? newPassword() : null
  const hash = await hashPassword(generated ?? password!)
  const entry = { ...call, action: 'operator.create', target: id, reason, after: { name, email, role } }
  const [made] = await store.query(sql`
    WITH made AS (
      INSERT INTO operators (id, name, email, email_verified, role) VALUES (${id}, ${name}, ${email}, true, ${role})
      ON CONFLICT DO NOTHING RETURNING id
    ), ${audited(entry, sql`made`)}, account AS (
      INSERT INTO operator_accounts (id, operator_id, account_id, provider_id, password)
      SELECT ${call.newId('acc')}, id, id, 'credential', ${hash} FROM made
    )
    SELECT id FROM made`)
  if (made) return { id, name, email, role, password: generated }
  // Made by this very call before its node died: the password died with it.
  const [there] = await store.query(sql`SELECT id FROM operators WHERE id = ${id}`)
  return there
    ? refuse('already_created')
    : refuse('already_exists', { detail: 'Another operator has this e-mail address.' })
}

/** 96 bits, in characters that survive any keyboard and any message. */
export const newPassword = (): string => randomBytes(12).toString('base64url')

export interface OperatorChange {
  id: string
  name?: string
  role?: Role
  disabled?: boolean
  password?: string
  reason?: string
}

export async function updateOperator(
  store: Pick<Store, 'query'>,
  call: Call,
  change: OperatorChange,
): Promise<OperatorView | Refused> {
  const hash = change.password === undefined ? null : await hashPassword(change.password)
  try {
    const [row] = await store.query<Row>(updateStatement(call, change, hash))
    return row ? toView(row) : refuse('not_found')
  } catch (error) {
    if (violatedConstraint(error) === 'operators_last_admin') return refuse('last_admin')
    throw error
  }
}

const SETTINGS = raw(`jsonb_build_object('name', o.name, 'role', o.role, 'disabled', o.disabled_at IS NOT NULL)`)

// `old` locks first and reads what the rival before us committed, so `before` is what this change really replaced. The
// tokens are locked before the person's trigger ends them, so that the entry names those that end. The
// entry reads the new password's row, which ends sessions, so that it is written after them: it is the last to lock.
function updateStatement(call: Call, { id, name, role, disabled, reason }: OperatorChange, hash: string | null) {
  const entry = { ...call, action: 'operator.update', target: id, reason }
  return sql`
    WITH old AS (
      SELECT o.id, ${SETTINGS} AS settings FROM operators o WHERE o.id = ${id} FOR UPDATE
    ), ending AS MATERIALIZED (
      SELECT jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name)) AS tokens FROM (
        SELECT t.id, t.name FROM old, operator_tokens t
        WHERE ${disabled ?? false}::boolean AND t.owner_id = old.id AND t.revoked_at IS NULL FOR UPDATE OF t) t
    ), changed AS (
      UPDATE operators o SET name = coalesce(${name ?? null}, o.name), role = coalesce(${role ?? null}, o.role),
        disabled_at = CASE ${disabled ?? null}::boolean
          WHEN true THEN coalesce(o.disabled_at, clock_timestamp()) WHEN false THEN NULL ELSE o.disabled_at END,
        updated_at = clock_timestamp()
      FROM old, ending WHERE o.id = old.id
      RETURNING ${COLUMNS}, old.settings AS before, ${SETTINGS} AS after, ending.tokens
    ), renewed AS (
      UPDATE operator_accounts a SET password = ${hash}, updated_at = clock_timestamp() FROM changed
      WHERE a.operator_id = changed.id AND a.provider_id = 'credential' AND ${hash}::text IS NOT NULL RETURNING a.id
    ), told AS (
      SELECT changed.before, changed.after, changed.tokens, EXISTS (SELECT FROM renewed) AS renewed FROM changed
    ), ${audited(
      entry,
      sql`told WHERE before <> after OR renewed`,
      sql`after || CASE WHEN renewed THEN '{"password":"renewed"}'::jsonb ELSE '{}' END
        || CASE WHEN tokens IS NULL THEN '{}' ELSE jsonb_build_object('endedTokens', tokens) END`,
      sql`before`,
    )}
    SELECT * FROM changed`
}

export async function endSessions(
  store: Pick<Store, 'query'>,
  call: Call,
  { id, reason }: { id: string; reason?: string },
): Promise<null | Refused> {
  const entry = { ...call, action: 'operator.end_sessions', target: id, reason }
  const ended = sql`jsonb_build_object('sessions', (SELECT count(*) FROM ended))`
  const [person] = await store.query(sql`
    WITH person AS (SELECT id FROM operators WHERE id = ${id}),
    ended AS (DELETE FROM operator_sessions WHERE operator_id = ${id} RETURNING id),
    ${audited(entry, sql`person`, sql`jsonb_build_object('sessions', 0)`, ended)}
    SELECT id FROM person`)
  return person ? null : refuse('not_found')
}
