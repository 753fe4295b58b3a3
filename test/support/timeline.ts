// Is the story that a record's own timeline tells one that may be told? Every move is a legal one, no lease was taken
// for over before it was, and "nothing was executed" was never concluded while a call could still arrive.
import { MOVES, type State } from '../../lib/idempotency/states'

export interface TimelineEvent {
  event: string
  at: string
  attempt?: number
}

/** Where an event leads; what is not here moves nothing. Both operations may call from their claim on. */
const LEADS_TO: Record<string, State> = {
  accepted: 'pending',
  reserved: 'in_progress',
  claimed: 'in_progress',
  settled: 'completed',
  abandoned: 'completed',
  released: 'failed_retryable',
  outcome_unknown: 'unknown',
  lease_over: 'unknown',
  expired: 'expired',
}

export function illegalities(
  timeline: readonly TimelineEvent[],
  ends: State,
  { leaseMs, settleMs }: { leaseMs: number; settleMs: number },
): string[] {
  const wrong: string[] = []
  let state: State | null = null
  let claimedAt = 0
  let attempt = 0
  for (const { event, ...told } of timeline) {
    const to = LEADS_TO[event]
    if (!to) continue
    const at = Date.parse(told.at)
    if (state === null ? !['pending', 'in_progress'].includes(to) : !MOVES[state].includes(to))
      wrong.push(`${event} when it was ${state}`)
    if (event === 'lease_over' && at < claimedAt + leaseMs) wrong.push('its lease was ended before it was over')
    if (state === 'unknown' && to === 'failed_retryable' && at < claimedAt + leaseMs + settleMs)
      wrong.push('taken for not executed while a call could still arrive')
    if (to === 'in_progress') {
      attempt += 1
      claimedAt = at
      if (told.attempt !== undefined && told.attempt !== attempt)
        wrong.push(`attempt ${told.attempt} after ${attempt - 1}`)
    }
    state = to
  }
  if (state !== ends) wrong.push(`it is ${ends}, and its timeline ends ${state}`)
  return wrong
}
