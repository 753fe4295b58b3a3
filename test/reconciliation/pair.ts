// One key on which two actors meet, and the places where one of them can be held. To import it is enough: the hooks are
// those of the file that does.
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { Store } from '../../lib/db/store'
import { recordEvidence } from '../../lib/idempotency/store/evidence'
import { storeOn, toldBy } from '../support/boundary'
import { LOST, type Meeting, type OneKey, openMeeting } from './meeting'

export let meeting: Meeting
beforeAll(async () => {
  meeting = await openMeeting()
})
afterAll(() => meeting.bench.close())

export let one: OneKey
beforeEach(() => {
  one = meeting.begin()
})

/** The owner has charged, and is held with the answer on its way back. */
export async function ownerInCall() {
  const call = one.provider.hold('called')
  const owner = one.request()
  await call.reached
  return {
    async comesBack(): Promise<string> {
      call.open()
      return toldBy(await owner)
    },
  }
}

/** Charged, and the owner could not tell. */
export async function unknown(): Promise<void> {
  one.provider.answerCallWith(LOST)
  expect(await one.told()).toBe('outcome_unknown')
}

/** Charged, and taken for not executed, because the provider's list lagged behind. */
export async function failedRetryable(): Promise<void> {
  await unknown()
  await one.pastSettleWindow()
  one.provider.answerLookUpWith({ kind: 'not_found' })
  expect(await one.reconcile()).toMatchObject({ state: 'failed_retryable' })
}

export async function reconcilerInLookUp(store?: Store) {
  const asked = one.provider.hold('asked')
  const reconciling = one.reconcile(store)
  await asked.reached
  return {
    comesBack() {
      asked.open()
      return reconciling
    },
  }
}

/** Evidence that is written and not committed yet. */
export async function webhookUnderWay() {
  const transaction = await meeting.bench.transaction()
  const [charge] = await one.charges()
  await recordEvidence(
    { store: storeOn(transaction) },
    {
      recordId: await one.idOf(),
      source: 'webhook',
      sourceId: `evt_${one.key}`,
      attempt: null,
      executed: { kind: 'succeeded', ref: charge!.ref },
    },
  )
  return async () => {
    await transaction.query('COMMIT')
    transaction.release()
  }
}

const events = async () => (await one.record()).timeline.map(({ event }) => event)
export const count = async (event: string) => (await events()).filter((each) => each === event).length
