// A fault on purpose, for tests only: whoever works on a record is held between two steps, so that whoever started this
// process can kill it there, or take something away and let them go on. Whether this exists is decided when the app is
// built (next.config.mjs writes the word in), so a build for use has no such door.
import type { Boundary, Step } from '../idempotency/boundary'
import { currentRequestId } from '../request-context'

type Order =
  /** Everybody who comes to this step from now on is held there; null lets go of all who are held anywhere. */
  | { holdAt: Step | null }
  /** This request, job or run is held when it comes to the step for the `pass`th time. */
  | { hold: { requestId: string; step: Step; pass: number } }
  | { letGo: string }
  /** Every step that is passed is told from now on. */
  | { tellSteps: true }

export function faultHook(): Boundary['step'] {
  if (process.env.ONCEOVER_TEST_BUILD !== 'true' || !process.channel) return undefined
  let holdAt: Step | null = null
  let tellsSteps = false
  const places = new Map<string, { step: Step; pass: number }>()
  let held: { requestId: string; go(): void }[] = []
  const letGo = (isMeant: (requestId: string) => boolean) => {
    for (const { go } of held.filter(({ requestId }) => isMeant(requestId))) go()
    held = held.filter(({ requestId }) => !isMeant(requestId))
  }

  process.on('message', (order: Order) => {
    if ('hold' in order) places.set(order.hold.requestId, { ...order.hold })
    else if ('letGo' in order) letGo((requestId) => requestId === order.letGo)
    else if ('tellSteps' in order) tellsSteps = true
    else {
      holdAt = order.holdAt
      if (holdAt === null) letGo(() => true)
    }
    process.send?.({ obeyed: true })
  })
  // To be told is no reason to live on.
  process.channel.unref()

  function isPlaceOf(requestId: string, step: Step): boolean {
    const place = places.get(requestId)
    if (place?.step !== step || --place.pass > 0) return false
    places.delete(requestId)
    return true
  }

  return (step) => {
    const requestId = currentRequestId() ?? ''
    if (tellsSteps) process.send?.({ step, requestId })
    if (!isPlaceOf(requestId, step) && step !== holdAt) return
    return new Promise((go) => {
      held.push({ requestId, go })
      process.send?.({ held: step, requestId })
    })
  }
}
