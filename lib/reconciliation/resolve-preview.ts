// What a person's word for an outcome would do, before it is said: what the next request with the key gets, and what
// becomes of the order or the refund. Nobody is asked and nothing is written.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { quoteKey } from '../idempotency/key'
import type { Answer, AnyOperation } from '../idempotency/operation'
import { recallAttempt } from '../idempotency/settle-by-evidence'
import { currentOf } from '../idempotency/store/version'
import { type Refused, refuse } from '../operators/refusal'
import { type Affected, affectedBy } from '../orders/affected'
import { findToReconcile, type ToReconcile } from './due'
import { objectionTo } from './objection'
import type { Reconciliation } from './reconcile'
import { executedBy, incompletenessOf, type Resolution } from './resolve'

export interface ResolutionPreview {
  /** As resolve itself would refuse it now, as far as that can be said without asking the provider; null: it would not. */
  refusal: Refused | null
  /**
   * The answer as it is replayed, but for what is drawn when it is stored, such as the id of a payment; null where there
   * is none, because the request is run again.
   */
  replay: Answer | null
  /** Of a request that was not executed: whose business the next attempt is. */
  runsAgain: 'client' | 'worker' | 'nobody' | null
  affected: Affected[]
  /** For how long the key is kept from then on. */
  keptSeconds: number | null
}

export async function previewResolution(
  { boundary, operations }: Pick<Reconciliation, 'boundary' | 'operations'>,
  asked: Resolution & { id: string },
): Promise<ResolutionPreview | Refused> {
  const { store } = boundary
  const nothing = { replay: null, runsAgain: null, affected: [], keptSeconds: null }
  const found = await findToReconcile(store, asked.id)
  if (!found && !(await currentOf(store, asked.id))) return refuse('not_found')
  const operation = found && operations.get(found.record.endpoint)
  if (!operation || found.record.state !== 'unknown') return { ...nothing, refusal: refuse('not_resolvable') }
  const incomplete = incompletenessOf(asked)
  if (incomplete) return { ...nothing, refusal: incomplete }
  const refusal = (await objectionTo(store, found, asked)) ?? (await refTaken(store, asked))
  const affected = found.record.resource ? await affectedBy(store, found.record.resource, asked.verdict) : []
  const keptSeconds = found.retentionSeconds
  return { refusal, affected, keptSeconds, ...(await afterwards(operation, found, asked)) }
}

async function afterwards(
  operation: AnyOperation,
  found: ToReconcile,
  asked: Resolution & { id: string },
): Promise<Pick<ResolutionPreview, 'replay' | 'runsAgain'>> {
  const { record } = found
  const executed = executedBy(asked, { kind: 'unreachable' })
  if (executed) {
    const attempt = await recallAttempt(operation, found)
    // What its reservation ruled out was never asked of the provider: it has no such outcome.
    if (operation.refusal?.(attempt)) return { replay: null, runsAgain: null }
    const { answer } = operation.external.conclude(attempt, executed)
    const headers = { ...answer.headers, 'idempotency-key': quoteKey(record.key), 'idempotent-replayed': 'true' }
    return { replay: { ...answer, headers }, runsAgain: null }
  }
  if (!record.async) return { replay: null, runsAgain: 'client' }
  return { replay: null, runsAgain: found.runsAgain ? 'worker' : 'nobody' }
}

async function refTaken(store: Pick<Store, 'query'>, { providerRef }: Resolution): Promise<Refused | null> {
  if (providerRef === undefined) return null
  const taken = await store.query(
    sql`SELECT 1 FROM ledger_entries WHERE provider_ref = ${providerRef} AND reversed_at IS NULL`,
  )
  return taken.length > 0 ? refuse('provider_ref_taken') : null
}
