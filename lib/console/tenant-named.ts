// People know a tenant by its name, programs by its id.
import sql, { type Sql } from 'sql-template-tag'

/** The id of the tenant of this id or name. A name that nobody has is taken for an id, and then finds nothing. */
export const tenantNamed = (tenant: string): Sql => sql`(SELECT coalesce(
  (SELECT id FROM tenants WHERE id = ${tenant} OR name = ${tenant} ORDER BY id = ${tenant} DESC LIMIT 1), ${tenant}))`
