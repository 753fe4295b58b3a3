// A person's word for an outcome that nobody could find out. It moves the record as the reconciler would, with the same
// conclusions, and only if the record is still as the person saw it. It never goes against what the provider says: the
// provider is asked once more, and only where it can't be reached does the word stand by itself.
import { auditMove } from '../audit/append'
import { violatedConstraint } from '../db/sqlstate'
import {
  type Also,
  type AnyOperation,
  type Attempt,
  type Executed,
  type LookUpVerdict,
  type Shown,
  settlementOf,
} from '../idempotency/operation'
import { recallAttempt } from '../idempotency/settle-by-evidence'
import { recordJustification } from '../idempotency/store/evidence'
import { release } from '../idempotency/store/release'
import { settle } from '../idempotency/store/settle'
import { type Current, currentOf } from '../idempotency/store/version'
import { rerunAccepted } from '../jobs/enqueue'
import type { Call } from '../operators/actor'
import { type Refused, refuse } from '../operators/refusal'
import { askProvider } from './ask-provider'
import { findToReconcile, type ToReconcile } from './due'
import { askAbout, objectionTo } from './objection'
import type { Reconciliation } from './reconcile'

export const RESOLUTIONS = ['succeeded', 'declined', 'not_executed'] as const

export interface Resolution {
  verdict: (typeof RESOLUTIONS)[number]
  /** The provider's reference of what it executed or declined. */
  providerRef?: string
  /** The provider's own money, where that is to stand although the key asked for other money. */
  accept?: { amountCents: number; currency: string }
}

export interface Decision extends Resolution {
  id: string
  reason: string
  /** The version of the record that was decided about. */
  version: number
}

const REF_IS_UNIQUE = 'ledger_entries_provider_ref_key'

/** Null when it is done. */
export async function resolve(
  { boundary, operations }: Pick<Reconciliation, 'boundary' | 'operations'>,
  call: Call,
  decision: Decision,
): Promise<Refused | null> {
  const { store } = boundary
  const incomplete = incompletenessOf(decision)
  if (incomplete) return incomplete
  const found = await findToReconcile(store, decision.id)
  const current = found?.record ?? (await currentOf(store, decision.id))
  if (!current) return refuse('not_found')
  if (current.version !== decision.version) return changedSince(current)
  const operation = found && operations.get(found.record.endpoint)
  if (!operation || found.record.state !== 'unknown') return refuse('not_resolvable')
  const objection = await objectionTo(store, found, decision)
  if (objection) return objection

  const attempt = await recallAttempt(operation, found)
  const said = await askProvider(boundary, operation, attempt, found.record.lookUp)
  const known = await askAbout(store, operation, attempt, decision, said)
  if ('detail' in known) return refuse('contradicts_provider', known)
  try {
    const shown = decision.accept && known.shown ? known.shown : undefined
    const confirmed = known.confirmedByRef ?? false
    if (await move({ boundary, operation, attempt, found, said, shown, confirmed, call, decision })) return null
  } catch (error) {
    if (violatedConstraint(error) === REF_IS_UNIQUE) return refuse('provider_ref_taken')
    throw error
  }
  const now = await currentOf(store, decision.id)
  return now ? changedSince(now) : refuse('not_found')
}

/** What was executed has a reference, and what was not has none; only what was executed has money to accept. */
export function incompletenessOf({ verdict, providerRef, accept }: Resolution): Refused | null {
  const wrong = (message: string, path = 'providerRef') => refuse('invalid_request', { issues: [{ path, message }] })
  if (accept && verdict !== 'succeeded') return wrong('goes with succeeded', 'accept')
  if (verdict === 'succeeded' && providerRef === undefined) return wrong('is required with succeeded')
  if (verdict === 'not_executed' && providerRef !== undefined) return wrong('what was not executed has no reference')
  return null
}

const changedSince = ({ state, version }: Current): Refused =>
  refuse('changed_since_loaded', { current: { state, version } })

interface Move {
  boundary: Reconciliation['boundary']
  operation: AnyOperation
  attempt: Attempt<unknown, unknown>
  found: ToReconcile
  said: LookUpVerdict
  /** What the provider moved, where the person accepts that. */
  shown: Shown | undefined
  /** The provider has the reference for this key. */
  confirmed: boolean
  call: Call
  decision: Decision
}

/** False when the record is not as it was seen any more: nothing was done. */
async function move(m: Move): Promise<boolean> {
  const { boundary, operation, attempt, found, said, shown, confirmed, call, decision } = m
  const { id: recordId, verdict, version, reason, accept } = decision
  const { record } = found
  const executed = executedBy(decision, said)
  const ref = executed?.ref ?? null
  const by = `operator:${call.actor.id}`
  const event = { by, attempt: record.attempt, requestId: call.requestId, source: 'operator', verdict } as const
  const provider = confirmed ? verdict : said.kind
  const detail = { ref, reason, by: call.actor.id, provider, ...(shown && { shown }) }
  const before = { state: 'unknown', version }
  const audit = auditMove(
    { ...call, action: 'key.resolve', target: recordId, reason, before },
    { verdict, providerRef: ref, ...(accept ? { accept } : {}) },
  )
  const also: Also = async (tx, moved) => {
    await recordJustification(tx, recordId, { source: 'operator', attempt: record.attempt, verdict, detail })
    await audit(tx, moved)
  }
  const guard = { recordId, from: 'unknown', attempt: record.attempt, version, despiteOtherMoney: true, also } as const
  const moved = executed
    ? await settle(boundary, operation, {
        ...guard,
        settlement: settlementOf(operation, attempt, { ...executed, shown }),
        event: { event: 'settled', ...event },
      })
    : await release(boundary, {
        ...guard,
        code: 'not_executed',
        giveBack: async (tx) => operation.external.release?.(tx, attempt),
        event: { event: 'released', ...event },
        enqueue: record.async ? rerunAccepted(record.attempt) : undefined,
      })
  return moved !== null
}

/** A decline that nobody has a reference for is booked under one of our own. */
export function executedBy(
  { id, verdict, providerRef }: Resolution & { id: string },
  said: LookUpVerdict,
): Executed | null {
  if (verdict === 'not_executed') return null
  const known = providerRef ?? ('ref' in said ? said.ref : `unreferenced-${id}`)
  return { kind: verdict, ref: known }
}
