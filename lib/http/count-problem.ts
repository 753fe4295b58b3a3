// Which requests are refused, and why, for the scraper. Its labels come from closed sets: a code of ours, a route of ours,
// and a tenant only once its API key is known. So strangers can't make series.
import { services } from '../node/services'
import type { Parts, Streamed } from './respond'

/** A replayed problem was counted when it was answered first. */
export function countProblem({ headers, body }: Parts | Streamed, endpoint: string, tenantId = ''): void {
  if (headers['content-type'] !== 'application/problem+json' || headers['idempotent-replayed']) return
  if (typeof body === 'string') services().metrics.refused({ endpoint, tenantId }, JSON.parse(body).code)
}
