'use server'
// What admins do about tenants: calls of the operator API, with its own checks.
import * as calls from '../../../lib/http/operator/tenants'
import type { CreatedApiKey } from '../../../lib/tenants/api-keys'
import type { TenantSettings, TenantView } from '../../../lib/tenants/tenant'
import { type Answer, perform } from '../_shell/answer'

export const createTenant = async (body: { name: string }): Promise<Answer<TenantView>> =>
  perform(calls.createTenant, { body })

export const updateTenant = async (
  id: string,
  body: Partial<TenantSettings> & { reason?: string },
): Promise<Answer<TenantView>> => perform(calls.updateTenant, { params: { id }, body })

export const createApiKey = async (id: string, body: { name: string }): Promise<Answer<CreatedApiKey>> =>
  perform(calls.createApiKey, { params: { id }, body })

export const revokeApiKey = async (id: string, keyId: string, reason?: string): Promise<Answer<null>> =>
  perform(calls.revokeApiKey, { params: { id, keyId }, query: { reason } })
