// Tenants, what they may do, and their API keys.
import { z } from 'zod'
import type { ApiKeyView, ListedTenant, TenantDetail, TenantView } from '../../tenants/tenant'
import { operatorCall } from '../operator-call'
import { isStorable } from '../validate'
import { Reason } from './access'
import { listOf, PageQuery, pageOf, withCursor } from './paging'

const TENANT = /^ten_[0-9a-z]{26}$/
const API_KEY = /^key_[0-9a-z]{26}$/
const A_YEAR_IN_HOURS = 366 * 24
const MAX_INT4 = 2 ** 31 - 1

const Name = z.string().trim().min(1).max(64).refine(isStorable, 'has a NUL or a lone surrogate')
const Limit = z.int().min(0).max(MAX_INT4)

const settings = {
  retentionHours: z.number().positive().max(A_YEAR_IN_HOURS).nullable().optional().meta({
    description: 'How long its keys replay; null for each endpoint’s own. Holds for keys made from then on',
  }),
  newKeysPerMinute: Limit.optional().meta({ description: 'Of all nodes together; 600000 unless said' }),
  liveKeyCap: Limit.optional().meta({ description: 'Keys that are not expired; 10000000 unless said' }),
  disabled: z.boolean().optional().meta({ description: 'All of its API keys get 401' }),
}

const tenantMembers = {
  id: z.string(),
  name: z.string(),
  retentionHours: z.number().nullable(),
  newKeysPerMinute: z.int(),
  liveKeyCap: z.int(),
  disabled: z.boolean(),
  createdAt: z.iso.datetime(),
}
const listedMembers = {
  ...tenantMembers,
  apiKeyCount: z.int().meta({ description: 'API keys that are not revoked' }),
  liveKeyCount: z
    .int()
    .meta({ description: 'Idempotency keys that are not expired, of which liveKeyCap allows so many' }),
}
const ApiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    createdAt: z.iso.datetime(),
    revokedAt: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().meta({ description: 'To the minute' }),
  })
  .meta({ id: 'ApiKey', description: 'An API key, without its secret' }) satisfies z.ZodType<ApiKeyView>
const Tenant = z
  .object(tenantMembers)
  .meta({ id: 'Tenant', description: 'A tenant and its limits' }) satisfies z.ZodType<TenantView>
const ListedTenantSchema = z
  .object(listedMembers)
  .meta({ id: 'ListedTenant', description: 'A tenant, with how much it has' }) satisfies z.ZodType<ListedTenant>
const TenantWithKeys = z
  .object({ ...listedMembers, apiKeys: z.array(ApiKey) })
  .meta({ id: 'TenantWithApiKeys', description: 'A tenant with its API keys' }) satisfies z.ZodType<TenantDetail>

const tenant: TenantView = {
  id: 'ten_01jcq1x5a8c1e4g7j0m3p6r9t2',
  name: 'acme',
  retentionHours: 72,
  newKeysPerMinute: 60_000,
  liveKeyCap: 1_000_000,
  disabled: false,
  createdAt: '2025-11-16T09:12:44.031Z',
}
const listed: ListedTenant = { ...tenant, apiKeyCount: 1, liveKeyCount: 4182 }
const apiKey: ApiKeyView = {
  id: 'key_01jcq1y6b9d2f5h8k1n4q7s0v3',
  name: 'checkout',
  createdAt: '2025-11-16T09:13:02.518Z',
  revokedAt: null,
  lastUsedAt: '2025-11-16T13:58:02.118Z',
}

export const listTenants = operatorCall({
  method: 'GET',
  path: '/api/admin/tenants',
  operationId: 'listTenants',
  tag: 'Operators: access',
  summary: 'List tenants',
  description: 'Newest first.',
  role: 'admin',
  query: PageQuery,
  answer: {
    status: 200,
    description: 'A page of tenants.',
    schema: listOf(ListedTenantSchema),
    example: { items: [listed], nextCursor: null },
  },
  does: (services) => services.listTenants,
  input: ({ query }) => pageOf(query),
  present: withCursor,
})

export const showTenant = operatorCall({
  method: 'GET',
  path: '/api/admin/tenants/{id}',
  operationId: 'getTenant',
  tag: 'Operators: access',
  summary: 'Get a tenant',
  description: 'With its API keys, revoked ones too, newest first. What a key’s secret is, nobody knows.',
  params: { id: TENANT },
  role: 'admin',
  answer: {
    status: 200,
    description: 'The tenant.',
    schema: TenantWithKeys,
    example: { ...listed, apiKeys: [apiKey] },
  },
  does: (services) => services.showTenant,
  input: ({ params }) => ({ id: params.id! }),
})

export const createTenant = operatorCall({
  method: 'POST',
  path: '/api/admin/tenants',
  operationId: 'createTenant',
  tag: 'Operators: access',
  summary: 'Create a tenant',
  description: 'It has no API key yet.',
  role: 'admin',
  body: z.strictObject({ name: Name, ...settings, reason: Reason }),
  bodyExample: { name: 'acme', retentionHours: 72, newKeysPerMinute: 60_000, liveKeyCap: 1_000_000 },
  answer: { status: 201, description: 'The tenant.', schema: Tenant, example: tenant },
  problems: ['already_exists'],
  does: (services) => services.createTenant,
  input: ({ body }) => body,
})

export const updateTenant = operatorCall({
  method: 'PATCH',
  path: '/api/admin/tenants/{id}',
  operationId: 'updateTenant',
  tag: 'Operators: access',
  summary: 'Change a tenant',
  description: 'Only what is sent changes. It takes effect on every node within seconds.',
  params: { id: TENANT },
  role: 'admin',
  body: z.strictObject({ name: Name.optional(), ...settings, reason: Reason }),
  bodyExample: { retentionHours: 72, reason: 'They asked for three days' },
  answer: {
    status: 200,
    description: 'The tenant as it is now.',
    schema: Tenant,
    example: tenant,
  },
  problems: ['already_exists'],
  does: (services) => services.updateTenant,
  input: ({ params, body: { reason, ...settings } }) => ({ id: params.id!, settings, reason }),
})

export const createApiKey = operatorCall({
  method: 'POST',
  path: '/api/admin/tenants/{id}/api-keys',
  operationId: 'createApiKey',
  tag: 'Operators: access',
  summary: 'Create an API key',
  description: 'The secret is shown this once: only its hash is stored.',
  params: { id: TENANT },
  role: 'admin',
  body: z.strictObject({ name: Name, reason: Reason }),
  bodyExample: { name: 'checkout' },
  answer: {
    status: 201,
    description: 'The API key, with its secret.',
    schema: z.object({ id: z.string(), name: z.string(), secret: z.string() }),
    example: { id: apiKey.id, name: apiKey.name, secret: 'oo_live_0123456789abcdef0123456789abcdef01234567' },
  },
  showsSecret: true,
  does: (services) => services.createApiKey,
  input: ({ params, body }) => ({ tenantId: params.id!, ...body }),
})

export const revokeApiKey = operatorCall({
  method: 'DELETE',
  path: '/api/admin/tenants/{id}/api-keys/{keyId}',
  operationId: 'revokeApiKey',
  tag: 'Operators: access',
  summary: 'Revoke an API key',
  description: 'It is dead on every node within 5 seconds. Revoking it again changes nothing and succeeds.',
  params: { id: TENANT, keyId: API_KEY },
  role: 'admin',
  query: z.strictObject({ reason: Reason }),
  answer: { status: 204, description: 'It is revoked.', schema: null },
  does: (services) => services.revokeApiKey,
  input: ({ params, query }) => ({ tenantId: params.id!, id: params.keyId!, ...query }),
})
