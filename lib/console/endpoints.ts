// The endpoints that records are kept for. Lists walk an index once for each, so they have to be known: one that is
// taken out of the node stays here until its last tombstone is gone. A test holds this against the routes.
import { PLACE_ORDER } from '../orders/place-order'
import { REFUND_ORDER } from '../orders/refund-order'

export const ENDPOINTS: readonly string[] = [PLACE_ORDER, REFUND_ORDER]

/** The endpoint of this name, or else those whose name has it in it: "refunds" is enough to type. */
export function endpointsNamed(name: string): string[] {
  if (ENDPOINTS.includes(name)) return [name]
  const wanted = name.toLowerCase()
  return ENDPOINTS.filter((endpoint) => endpoint.toLowerCase().includes(wanted))
}
