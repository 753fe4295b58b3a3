// Holds an attempt between two steps, for tests that kill the process there or take something away. It runs inside the
// node (held-node.mjs hands it over at the start) and obeys the test process over the channel between the two.
import type { Boundary, Step } from '../../lib/idempotency/boundary'
import { currentRequestId } from '../../lib/request-context'

type Order =
  /** Hold every request that reaches this step from now on; null releases all that are held. */
  | { holdAt: Step | null }
  /** Hold this request, job or run when it reaches the step for the `pass`th time. */
  | { hold: { requestId: string; step: Step; pass: number } }
  | { letGo: string }
  /** Report every step that is passed from now on. */
  | { tellSteps: true }

export function stepHook(): NonNullable<Boundary['step']> {
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
  // The channel alone does not keep the process alive.
  process.channel?.unref()

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
