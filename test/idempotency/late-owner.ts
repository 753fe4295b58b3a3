// An owner that is held in its call while its record moves on without it, and what is to be seen of it afterwards.
import { expect } from 'vitest'
import type { Outcome } from '../../lib/idempotency/run'
import { release } from '../../lib/idempotency/store/release'
import type { Called } from '../support/boundary'
import { type Barrier, barrier, toldBy } from '../support/boundary'
import { bench, body, gateway, key, place } from './one-key'

/** Of the provider: unique in the ledger. */
export const ref = (name: string) => `ch_${name}_${key}`

export interface Late {
  /** Lets the provider's answer through and gives what the owner then tells its client. */
  comesBack(): Promise<Outcome>
}

/** An owner that is held in its call, about to learn the outcome. */
export async function ownerInCall(outcome: Called, asking = {}): Promise<Late> {
  const call: Barrier = barrier()
  gateway.nextCall(async () => {
    await call.pass()
    return outcome
  })
  const owner = place(asking)
  await call.reached
  return {
    comesBack() {
      call.open()
      return owner
    },
  }
}

/** Its lease runs out, and the next request notices. */
export async function leaseRunsOut(): Promise<void> {
  await bench.endLease(key)
  expect(toldBy(await place())).toBe('unknown')
}

/** Reconciliation found nothing, after the settle window. */
async function provenNotExecuted(): Promise<void> {
  const { id, attempt } = await bench.recordOf(key)
  const released = await release(
    { store: bench.store },
    {
      recordId: id,
      from: 'unknown',
      attempt,
      code: 'not_found',
      event: { event: 'released', by: 'reconciler' },
    },
  )
  expect(released).not.toBeNull()
}

/** A first owner that is held in its call while the record is failed_retryable again. */
export async function lateOwner(outcome: Called, asking = {}): Promise<Late> {
  const late = await ownerInCall(outcome, asking)
  await leaseRunsOut()
  await provenNotExecuted()
  return late
}

export const evidence = async () =>
  bench.rows('SELECT source, attempt, verdict FROM evidence WHERE record_id = $1', [(await bench.recordOf(key)).id])
export const discrepancies = async () =>
  bench.rows<{ kind: string; detail: Record<string, unknown> }>(
    'SELECT kind, detail FROM discrepancies WHERE record_id = $1',
    [(await bench.recordOf(key)).id],
  )
export const books = () =>
  bench.rows(
    `SELECT o.status, l.status AS ledger, l.provider_ref AS ref
     FROM orders o LEFT JOIN ledger_entries l ON l.order_id = o.id WHERE o.customer_id = $1`,
    [body.customerId],
  )
export const events = async () => (await bench.recordOf(key)).timeline.map(({ event }) => event)
