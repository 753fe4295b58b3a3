// What everybody sees of who has access: tenants with their limits and API keys, operators by name and role. Whose
// addresses they are, and when they signed in, is for admins.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { Listed, Page } from '../operators/page'
import { listOperators, type OperatorView } from '../operators/people'
import { refuse } from '../operators/refusal'
import { listTokens, type TokenView } from '../operators/tokens'
import type { Guard, UseCase } from '../operators/use-case'
import { findTenant, type ListedTenant, listTenants, type TenantDetail } from '../tenants/tenant'

export type ColleagueView = Pick<OperatorView, 'id' | 'name' | 'role' | 'disabled' | 'createdAt'>

export interface AccessViews {
  seeTenants: UseCase<Page, Listed<ListedTenant>>
  seeTenant: UseCase<{ id: string }, TenantDetail & { newKeysLastMinute: number }>
  tenantNames: UseCase<{ ids: readonly string[] }, Map<string, string>>
  seeOperators: UseCase<Page, Listed<ColleagueView>>
  seeTokens: UseCase<Page, Listed<TokenView>>
  /** By operator, where they ever did. */
  lastSignIns: UseCase<{ ids: readonly string[] }, Map<string, string>>
}

export function accessViews(store: Store, guard: Guard): AccessViews {
  return {
    seeTenants: guard({ action: 'tenants.see', role: 'viewer' }, (_, page) => listTenants(store, page)),
    seeTenant: guard({ action: 'tenants.see', role: 'viewer', target: ({ id }) => id }, async (_, { id }) => {
      const [tenant, newKeysLastMinute] = await Promise.all([findTenant(store, id), countNewKeys(store, id)])
      return tenant ? { ...tenant, newKeysLastMinute } : refuse('not_found')
    }),
    tenantNames: guard({ action: 'tenants.see', role: 'viewer' }, (_, { ids }) => tenantNames(store, ids)),
    seeOperators: guard({ action: 'operators.see', role: 'viewer' }, async (_, page) => {
      const { items, next } = await listOperators(store, page)
      return { items: items.map(({ email, sessionCount, tokens, ...colleague }) => colleague), next }
    }),
    seeTokens: guard({ action: 'tokens.see', role: 'viewer' }, (_, page) => listTokens(store, page)),
    lastSignIns: guard({ action: 'operator.list', role: 'admin' }, (_, { ids }) => lastSignIns(store, ids)),
  }
}

async function tenantNames(store: Pick<Store, 'query'>, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await store.query<{ id: string; name: string }>(sql`
    SELECT id, name FROM tenants WHERE id = ANY(${[...new Set(ids)]}::text[])`)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Of all nodes together, as the limit counts them. */
async function countNewKeys(store: Pick<Store, 'query'>, tenantId: string): Promise<number> {
  const [row] = await store.query<{ count: number }>(sql`
    SELECT coalesce(sum(count), 0)::int AS count FROM tenant_usage
    WHERE tenant_id = ${tenantId} AND kind = 'new_key' AND second > clock_timestamp() - interval '1 minute'`)
  return row!.count
}

/** The audit log has every one; a session is deleted when it ends. */
async function lastSignIns(store: Pick<Store, 'query'>, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await store.query<{ id: string; at: Date }>(sql`
    SELECT o.id, e.at FROM unnest(${[...ids]}::text[]) o (id), LATERAL (
      SELECT at FROM audit_entries WHERE target = o.id AND action = 'session.sign_in' AND outcome = 'done' ORDER BY seq DESC LIMIT 1) e`)
  return new Map(rows.map(({ id, at }) => [id, at.toISOString()]))
}
