// Who is calling: a script by its token, or the environment's. Read from the store at every call, so a token that is
// revoked or has run out is dead everywhere at once.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { hashSecret, sameSecret } from '../secret'
import { type Actor, ENVIRONMENT_ACTOR } from './actor'

/** Last use is for people who clean up: to the minute is enough, and a busy script writes one row a minute. */
const LAST_USE_STEP_MS = 60_000

export async function actorOfToken(
  store: Pick<Store, 'query'>,
  token: string,
  adminToken: string | undefined,
): Promise<Actor | null> {
  if (adminToken !== undefined && sameSecret(token, adminToken)) return ENVIRONMENT_ACTOR
  const hash = hashSecret(token)
  const [row] = await store.query<Actor>(sql`
    WITH live AS (
      SELECT id, name, role FROM operator_tokens t
      WHERE hash = ${hash} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())
        AND (owner_id IS NULL OR EXISTS (SELECT FROM operators o WHERE o.id = t.owner_id AND o.disabled_at IS NULL))
    ), used AS (
      UPDATE operator_tokens t SET last_used_at = clock_timestamp() FROM live
      WHERE t.id = live.id AND t.revoked_at IS NULL AND coalesce(
        t.last_used_at < clock_timestamp() - ${LAST_USE_STEP_MS}::float8 * interval '1 ms', true)
    )
    SELECT id, name, role FROM live`)
  return row ?? null
}
