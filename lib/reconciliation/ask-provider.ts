// One question to the provider about one record. It always ends with a verdict: what breaks on our side of it says
// nothing about the effect, like a provider that can't be reached.
import type { Boundary } from '../idempotency/boundary'
import { lookUpLost } from '../idempotency/lost-effects'
import type { AnyOperation, Attempt, LookUpVerdict, LookUpWindow } from '../idempotency/operation'
import { log } from '../log'

export async function askProvider(
  boundary: Boundary,
  operation: AnyOperation,
  attempt: Attempt<unknown, unknown>,
  window: LookUpWindow,
): Promise<LookUpVerdict> {
  try {
    return (await lookUpLost(boundary, operation, attempt)) ?? (await operation.external.lookUp(attempt, window))
  } catch (bug) {
    log().error({ err: bug, recordId: attempt.recordId }, 'a look-up failed')
    return { kind: 'unreachable' }
  }
}
