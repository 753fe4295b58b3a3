// Making a tenant and changing what it may do. A change writes the given columns and no others, under the row's lock,
// so two people who change different things at once lose neither; what it was and what it became goes into the audit
// log with it. Nodes read a tenant again within the authenticator's few seconds: nothing has to be restarted.
import sql, { join, type Sql } from 'sql-template-tag'
import { audited } from '../audit/append'
import { violatedConstraint } from '../db/sqlstate'
import type { Store } from '../db/store'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import { SETTINGS, type TenantRow, type TenantSettings, type TenantView, toTenant } from './tenant'

export type NewTenant = Pick<TenantSettings, 'name'> & Partial<TenantSettings> & { reason?: string }

export interface TenantChange {
  id: string
  settings: Partial<TenantSettings>
  reason?: string
}

const NAME_IS_UNIQUE = 'tenants_name_key'
const NAME_TAKEN = { detail: 'Another tenant has this name.' }

export async function createTenant(
  store: Pick<Store, 'query'>,
  call: Call,
  { reason, ...tenant }: NewTenant,
): Promise<TenantView | Refused> {
  const id = call.newId('ten')
  const given = assignments(tenant)
  const [made] = await store.query<TenantRow>(sql`
    WITH made AS (
      INSERT INTO tenants AS t (id, ${join(given.map(({ column }) => column))})
      VALUES (${id}, ${join(given.map(({ value }) => value))})
      ON CONFLICT DO NOTHING RETURNING t.id, ${SETTINGS} AS settings, t.created_at
    ), ${audited({ ...call, action: 'tenant.create', target: id, reason }, sql`made`, sql`made.settings`)}
    SELECT * FROM made`)
  if (made) return toTenant(made)
  // The same call, run again after its node died, has made it already; anything else in the way has the name.
  const [there] = await store.query<TenantRow>(sql`
    SELECT t.id, ${SETTINGS} AS settings, t.created_at FROM tenants t WHERE t.id = ${id}`)
  return there ? toTenant(there) : refuse('already_exists', NAME_TAKEN)
}

export async function updateTenant(
  store: Pick<Store, 'query'>,
  call: Call,
  change: TenantChange,
): Promise<TenantView | Refused> {
  try {
    const [row] = await store.query<TenantRow>(updateStatement(call, change))
    return row ? toTenant(row) : refuse('not_found')
  } catch (error) {
    if (violatedConstraint(error) === NAME_IS_UNIQUE) return refuse('already_exists', NAME_TAKEN)
    throw error
  }
}

// `old` locks first and reads what the rival before us committed, so `before` is what this change really replaced.
function updateStatement(call: Call, { id, settings, reason }: TenantChange): Sql {
  const given = assignments(settings)
  const old = sql`old AS (
    SELECT t.id, ${SETTINGS} AS settings, t.created_at FROM tenants t WHERE t.id = ${id} FOR UPDATE
  )`
  if (given.length === 0) return sql`WITH ${old} SELECT * FROM old`
  // Somebody who disables what is disabled does not move the instant at which it was.
  const set = join(
    given.map(({ column, value, differs }) => sql`${column} = CASE WHEN ${differs} THEN ${value} ELSE t.${column} END`),
  )
  const differs = join(
    given.map(({ differs }) => differs),
    ' OR ',
  )
  const entry = { ...call, action: 'tenant.update', target: id, reason }
  const before = whatDiffers(sql`changed.before`, sql`changed.settings`)
  const after = whatDiffers(sql`changed.settings`, sql`changed.before`)
  return sql`
    WITH ${old}, changed AS (
      UPDATE tenants t SET ${set} FROM old WHERE t.id = old.id AND (${differs})
      RETURNING t.id, old.settings AS before, ${SETTINGS} AS settings
    ), ${audited(entry, sql`changed`, after, before)}
    SELECT old.id, coalesce(changed.settings, old.settings) AS settings, old.created_at
    FROM old LEFT JOIN changed ON changed.id = old.id`
}

const whatDiffers = (from: Sql, other: Sql): Sql => sql`(
  SELECT jsonb_object_agg(m.key, m.value) FROM jsonb_each(${from}) m WHERE ${other} -> m.key IS DISTINCT FROM m.value)`

interface Assignment {
  column: Sql
  value: Sql
  differs: Sql
}

/** Only what is given; null is a value. */
function assignments(settings: Partial<TenantSettings>): Assignment[] {
  const assign = (column: Sql, value: Sql, differs = sql`t.${column} IS DISTINCT FROM ${value}`): Assignment => ({
    column,
    value,
    differs,
  })
  const { name, retentionHours, newKeysPerMinute, liveKeyCap, disabled } = settings
  const given: Assignment[] = []
  if (name !== undefined) given.push(assign(sql`name`, sql`${name}::text`))
  if (retentionHours !== undefined) given.push(assign(sql`retention_hours`, sql`${retentionHours}::float8`))
  if (newKeysPerMinute !== undefined) given.push(assign(sql`new_keys_per_minute`, sql`${newKeysPerMinute}::int`))
  if (liveKeyCap !== undefined) given.push(assign(sql`live_key_cap`, sql`${liveKeyCap}::int`))
  if (disabled !== undefined) {
    const at = disabled ? sql`clock_timestamp()` : sql`NULL::timestamptz`
    given.push(assign(sql`disabled_at`, at, sql`(t.disabled_at IS NOT NULL) <> ${disabled}::boolean`))
  }
  return given
}
