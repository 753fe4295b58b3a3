import { clientRead } from '../../../../lib/http/client-read'
import { problem } from '../../../../lib/http/problem'
import { json } from '../../../../lib/http/respond'
import { isStorable } from '../../../../lib/http/validate'
import { findByKey } from '../../../../lib/idempotency/store/find'
import { toClientRecord } from '../../../../lib/idempotency/view'
import { PLACE_ORDER } from '../../../../lib/orders/place-order'

const LOOK_UPS_PER_MINUTE = 600

export const GET = clientRead('GET /api/idempotency-keys/{key}', async ({ request, tenant, node }) => {
  const taken = await node.limits.takeLookUp(tenant.id, LOOK_UPS_PER_MINUTE)
  if (!taken.ok) return problem('rate_limited', { afterSeconds: taken.afterSeconds })
  const url = new URL(request.url)
  const key = keyFromPath(url.pathname)
  const endpoint = url.searchParams.get('endpoint') ?? PLACE_ORDER
  const known = key !== null && isStorable(key) && isStorable(endpoint)
  const record = known ? await findByKey(node.store, { tenantId: tenant.id, endpoint, key }) : null
  if (!record) return problem('idempotency_key_not_found')
  const runsOut = record.state === 'completed' || record.state === 'failed_retryable'
  if (record.state === 'expired' || (runsOut && record.pastExpiry))
    return problem('idempotency_key_expired', {
      resource: record.resource,
      response: record.responseStatus === null ? null : { status: record.responseStatus },
    })
  return json(200, toClientRecord(record))
})

/** A key may hold any printable character, a slash too: taken from the address as it was sent, decoded once. */
function keyFromPath(pathname: string): string | null {
  try {
    return decodeURIComponent(pathname.replace(/^.*\/api\/idempotency-keys\//, ''))
  } catch {
    return null
  }
}
