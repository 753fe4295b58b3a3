// Every state that a record of the first release can be in when the upgrade begins, brought there by that release's own
// statements.
import type pg from 'pg'
import { freshKey, orderBody } from '../../support/client'
import type { FirstReleaseNode } from './first-release-node'

/** One outlives the test, the other was over before it began, to the millisecond that the column keeps. */
const LONG_MS = 10 * 60_000
const OVER_MS = -1000

export type Filled = Awaited<ReturnType<typeof fillEveryState>>

export async function fillEveryState(old: FirstReleaseNode, db: Pick<pg.Pool, 'query'>) {
  const reserved = async (leaseMs?: number, paymentMethod = 'pm_ok') => {
    const request = { key: freshKey(), order: orderBody({ paymentMethod, note: 'Grüße 🚀' }) }
    return { ...request, attempt: await old.reserveOrder(request.key, request.order, leaseMs) }
  }
  const completed = async (paymentMethod?: string) => {
    const begun = await reserved(undefined, paymentMethod)
    return { ...begun, answer: (await old.settle(begun.attempt, await old.charge(begun.attempt)))! }
  }
  const must = async (done: Promise<boolean>) => {
    if (!(await done)) throw new Error('the move was refused')
  }

  const paid = await completed()
  const declined = await completed('pm_declined')

  const refundable = await completed()
  const orderId = refundable.attempt.resourceId
  const refunding = async (amountCents: number) => {
    const key = freshKey()
    return { key, orderId, attempt: await old.reserveRefund(key, refundable.attempt, amountCents) }
  }
  const done = await refunding(1000)
  const refund = { ...done, answer: (await old.settle(done.attempt, await old.charge(done.attempt)))! }
  const refundUnknown = await refunding(700)
  await old.charge(refundUnknown.attempt)
  await must(old.giveUp(refundUnknown.attempt))
  await must(old.release((await refunding(800)).attempt))

  const running = await reserved(LONG_MS)
  const dead = await reserved(OVER_MS)
  const charged = await old.charge(dead.attempt)
  const uncalled = await reserved(OVER_MS)
  await must(old.leaseOver(uncalled.attempt))
  const retryable = await reserved()
  await must(old.release(retryable.attempt))
  const unknownCharged = await reserved()
  await old.charge(unknownCharged.attempt)
  await must(old.giveUp(unknownCharged.attempt))
  const lost = await reserved()
  await must(old.giveUp(lost.attempt))

  const accepted = { key: freshKey(), order: orderBody() }
  await old.accept(accepted.key, accepted.order)

  // That release had no reaper: a tombstone is what an operator made with psql.
  const expired = await completed()
  await db.query(
    `UPDATE idempotency_records SET state = 'expired', version = version + 1, request = NULL, response_headers = NULL,
       response_body = NULL, expired_at = clock_timestamp(), expires_at = clock_timestamp(),
       timeline = timeline || '[{"event":"expired"}]'::jsonb WHERE id = $1`,
    [expired.attempt.recordId],
  )

  return {
    paid,
    declined,
    refund,
    refundUnknown,
    running,
    dead: { ...dead, charged },
    uncalled,
    retryable,
    charged: unknownCharged,
    lost,
    accepted,
    expired,
  }
}
