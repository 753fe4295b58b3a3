// Who is calling: a script by its token, or the environment's. Read from the store at every call, so a token that is
// revoked or has run out is dead everywhere at once, and one whose owner is demoted can do no more than its owner.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { hashSecret, sameSecret } from '../secret'
import { type Actor, ENVIRONMENT_ACTOR } from './actor'
import { mayAct, type Role } from './role'

/** Last use is for people who clean up: to the minute is enough, and a busy script writes one row a minute. */
const LAST_USE_STEP_MS = 60_000

export async function actorOfToken(
  store: Pick<Store, 'query'>,
  token: string,
  adminToken: string | undefined,
): Promise<Actor | null> {
  if (adminToken !== undefined && sameSecret(token, adminToken)) return ENVIRONMENT_ACTOR
  const hash = hashSecret(token)
  const [row] = await store.query<Actor & { ownerRole: Role | null }>(sql`
    WITH live AS (
      SELECT t.id, t.name, t.role, o.role AS owner_role
      FROM operator_tokens t LEFT JOIN operators o ON o.id = t.owner_id AND o.disabled_at IS NULL
      WHERE t.hash = ${hash} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
        AND (t.owner_id IS NULL OR o.id IS NOT NULL)
    ), used AS (
      UPDATE operator_tokens t SET last_used_at = clock_timestamp() FROM live
      WHERE t.id = live.id AND t.revoked_at IS NULL AND coalesce(
        t.last_used_at < clock_timestamp() - ${LAST_USE_STEP_MS}::float8 * interval '1 ms', true)
    )
    SELECT id, name, role, owner_role AS "ownerRole" FROM live`)
  if (!row) return null
  const { ownerRole, ...actor } = row
  return ownerRole !== null && !mayAct(ownerRole, actor.role) ? { ...actor, role: ownerRole } : actor
}
