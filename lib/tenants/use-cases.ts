// What admins see and do of tenants, each behind the check of its role.
import type { Store } from '../db/store'
import type { Listed, Page } from '../operators/page'
import { refuse } from '../operators/refusal'
import type { Guard, UseCase } from '../operators/use-case'
import { type CreatedApiKey, createApiKey, type NewApiKey, type RevokedApiKey, revokeApiKey } from './api-keys'
import { createTenant, type NewTenant, type TenantChange, updateTenant } from './settings'
import { findTenant, type ListedTenant, listTenants, type TenantDetail, type TenantView } from './tenant'

export interface TenantUseCases {
  listTenants: UseCase<Page, Listed<ListedTenant>>
  showTenant: UseCase<{ id: string }, TenantDetail>
  createTenant: UseCase<NewTenant, TenantView>
  updateTenant: UseCase<TenantChange, TenantView>
  createApiKey: UseCase<NewApiKey, CreatedApiKey>
  revokeApiKey: UseCase<RevokedApiKey, null>
}

export function tenantUseCases(store: Store, guard: Guard): TenantUseCases {
  return {
    listTenants: guard({ action: 'tenant.list', role: 'admin' }, (_, page) => listTenants(store, page)),
    showTenant: guard(
      { action: 'tenant.show', role: 'admin', target: ({ id }) => id },
      async (_, { id }) => (await findTenant(store, id)) ?? refuse('not_found'),
    ),
    createTenant: guard({ action: 'tenant.create', role: 'admin' }, (call, tenant) =>
      createTenant(store, call, tenant),
    ),
    updateTenant: guard({ action: 'tenant.update', role: 'admin', target: ({ id }) => id }, (call, change) =>
      updateTenant(store, call, change),
    ),
    createApiKey: guard({ action: 'api_key.create', role: 'admin', target: ({ tenantId }) => tenantId }, (call, key) =>
      createApiKey(store, call, key),
    ),
    revokeApiKey: guard({ action: 'api_key.revoke', role: 'admin', target: ({ id }) => id }, (call, key) =>
      revokeApiKey(store, call, key),
    ),
  }
}
