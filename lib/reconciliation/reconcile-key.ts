// A person asks the provider about one key, now. It settles what the answer proves, like the reconciler; of a key whose
// outcome is known it only reports. Who asked, and what came of it, commits with the move where there is one.
import { setTimeout } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { appendAudit, auditMove, type NewEntry } from '../audit/append'
import type { Store } from '../db/store'
import type { Also } from '../idempotency/operation'
import type { State } from '../idempotency/states'
import type { EvidenceSource } from '../idempotency/store/evidence'
import { currentOf } from '../idempotency/store/version'
import type { BulkAction } from '../maintenance/bulk'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import { takeAsk } from './asks-by-people'
import { type Reconciliation, reconcile, type Verdict } from './reconcile'
import { noteAnswer } from './resume'

/** What the provider's object says of itself. */
interface ProviderObject {
  effect?: 'charge' | 'refund'
  amountCents: number
  currency: string
  orderId?: string | null
  createdAt?: string
}

interface EvidenceView {
  id: string
  source: EvidenceSource
  verdict: string
  ref: string | null
  object: ProviderObject | null
  differs: boolean
  attempt: number
  createdAt: string
}

export interface ReconciledKey {
  verdict: Verdict
  /** What it is now. */
  state: State
  /** What it found, also where nothing is kept of it. */
  ref: string | null
  object: ProviderObject | null
  evidence: EvidenceView[]
}

export async function reconcileKey(
  r: Reconciliation,
  call: Call,
  { id, reason }: { id: string; reason?: string },
): Promise<ReconciledKey | Refused> {
  const { store } = r.boundary
  const before = await currentOf(store, id)
  if (!before) return refuse('not_found')
  const waitMs = await takeAsk(store, id)
  if (waitMs !== null)
    return refuse('rate_limited', {
      detail: 'The provider is asked about a key at most once a second.',
      afterSeconds: Math.ceil(waitMs / 1000),
    })
  const entry = { ...call, action: 'key.reconcile', target: id, reason }
  const reconciled = await reconcile(r, id, `operator:${call.actor.id}`, auditedReconcile(entry))
  if (!reconciled) return refuse('nothing_to_ask')
  const { verdict, settled, ref, shown } = reconciled
  if (verdict !== 'unreachable') await noteAnswer(store)
  const now = (await currentOf(store, id)) ?? { ...before, state: reconciled.state }
  // It moved nothing: where somebody else did meanwhile, the entry of that move is theirs.
  if (!settled) await appendAudit(store, { ...entry, before: now, after: { ...now, verdict } })
  const object: ProviderObject | null = shown ? JSON.parse(JSON.stringify(shown)) : null
  return { verdict, state: now.state, ref, object, evidence: await evidenceOf(store, id) }
}

/** The same for one key of a bulk run: what it moves is in the log under who asked for the run. */
export const reconcileInBulk =
  (r: Reconciliation): BulkAction =>
  async ({ id: requestId, reason, actor }, recordId) => {
    const { store } = r.boundary
    if (!(await currentOf(store, recordId))) return { error: 'not_found' }
    for (let waitMs = await takeAsk(store, recordId); waitMs !== null; waitMs = await takeAsk(store, recordId))
      await setTimeout(waitMs)
    const entry = { actor, requestId, action: 'key.reconcile', target: recordId, reason }
    const reconciled = await reconcile(r, recordId, requestId, auditedReconcile(entry))
    if (reconciled && reconciled.verdict !== 'unreachable') await noteAnswer(store)
    if (reconciled) return { verdict: reconciled.verdict, state: reconciled.state, settled: reconciled.settled }
    return { error: (await currentOf(store, recordId)) ? 'nothing_to_ask' : 'not_found' }
  }

/** For `reconcile`: the entry of a key that it moves. */
const auditedReconcile =
  (entry: NewEntry) =>
  (verdict: Verdict, { state }: { state: State }): Also =>
  (tx, moved) =>
    auditMove({ ...entry, before: { state, version: moved.version - 1 } }, { verdict })(tx, moved)

async function evidenceOf(store: Pick<Store, 'query'>, recordId: string): Promise<EvidenceView[]> {
  const rows = await store.query<Omit<EvidenceView, 'createdAt'> & { createdAt: Date }>(sql`
    SELECT id, source, verdict, detail->>'ref' AS ref, detail->'shown' AS object,
      coalesce((detail->>'differs')::boolean, false) AS differs, attempt, created_at AS "createdAt"
    FROM evidence WHERE record_id = ${recordId} ORDER BY created_at, id`)
  return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }))
}
