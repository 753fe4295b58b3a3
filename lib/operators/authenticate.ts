// Who operates. The environment's ADMIN_TOKEN is an operator token with the role admin, for automation.
import { sameSecret } from '../tenants/secret'

export const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

export function operatorRole(token: string | null, adminToken: string | undefined): Role | null {
  if (token === null || adminToken === undefined) return null
  return sameSecret(token, adminToken) ? 'admin' : null
}
