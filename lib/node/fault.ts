// A fault on purpose, for tests only: the process kills itself between two steps of an attempt. Whether this exists
// is decided when the app is built (next.config.mjs writes the word in), so a build for use has no such door.
import { type Boundary, STEPS, type Step } from '../idempotency/boundary'

export function faultHook(): Boundary['step'] {
  if (process.env.ONCEOVER_TEST_BUILD !== 'true') return undefined
  const killAt = process.env.ONCEOVER_KILL_AT as Step | undefined
  if (!killAt) return undefined
  if (!STEPS.includes(killAt)) throw new Error(`Configuration: ONCEOVER_KILL_AT: no such step: ${killAt}`)
  return (step) => {
    if (step !== killAt) return
    process.kill(process.pid, 'SIGKILL')
    // The signal arrives in a moment; nothing of this attempt may run until then.
    return new Promise(() => {})
  }
}
