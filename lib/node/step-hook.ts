// Tests hand a node a hook at its start, which holds an attempt between two steps. `npm start` hands over nothing, and a
// hook is taken only with NODE_ENV=test.
import type { Boundary } from '../idempotency/boundary'

type StepHook = Boundary['step']

/** Where the process that serves leaves the hook, across Next's bundles. */
const HOOK = Symbol.for('onceover.step-hook')
const holder = globalThis as unknown as Record<symbol, StepHook>

export function handOverStepHook(hook: StepHook, nodeEnv: string | undefined): void {
  if (nodeEnv !== 'test') throw new Error(`a step hook is taken only with NODE_ENV=test, not with ${nodeEnv}.`)
  holder[HOOK] = hook
}

export const handedStepHook = (): StepHook => holder[HOOK]
