// What run.mjs gives to TypeScript.
import type { SpawnOptions } from 'node:child_process'

export class StepFailed extends Error {
  readonly output: string
}

/** Runs one step of the set-up and returns its output; rejects with StepFailed when it fails. */
export function run(step: string, command: string, args: readonly string[], options?: SpawnOptions): Promise<string>
