// Next's own server for the contenders that are measured on it: a small app beside this file, so that nothing of it is
// in the product's build.
import path from 'node:path'
import { run } from '../../scripts/run.mjs'
import { root } from './program'

export const NEXT = path.join(root, 'node_modules', 'next', 'dist', 'bin', 'next')
export const NEXT_APP = path.join(import.meta.dirname, 'next-app')

let built: Promise<unknown> | undefined

/** Once a run: it takes seconds, and a build is never older than its sources then. */
export async function buildNextApp(): Promise<void> {
  const env = { ...process.env, NODE_ENV: 'production' as const, NEXT_TELEMETRY_DISABLED: '1' }
  built ??= run('next build', process.execPath, [NEXT, 'build', NEXT_APP], { cwd: root, env })
  await built
}
