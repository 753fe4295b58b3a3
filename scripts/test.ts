// Every test runs against what `npm start` would serve: the same client, the same build, made by the same code. Beside
// it lies the build for those tests that hold an attempt between two of its steps.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { ensureBuild } from './build'
import type { Lock } from './lock.mjs'

export interface TestContext {
  root: string
  args: readonly string[]
  say: (line: string) => void
  startLock: Lock
  stopping: AbortSignal
}

export async function test({ root, args, say, startLock, stopping }: TestContext): Promise<number> {
  await ensureBuild({ root, say, signal: stopping })
  await ensureBuild({ root, say, signal: stopping, forTests: true })
  // The tests start nodes of their own, each of which takes it for a moment.
  await startLock.release()
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const env = { ...process.env, NODE_ENV: 'test' as const }
  // Faults of the network have a command of their own.
  const wanted = args.some((arg) => arg.startsWith('--project')) ? args : ['--project', '!faults', ...args]
  const child = spawn(process.execPath, [vitest, 'run', ...wanted], { cwd: root, env, stdio: 'inherit' })
  // A terminal's Ctrl-C reaches vitest by itself; a signal sent to us alone does not.
  stopping.addEventListener('abort', () => child.kill('SIGINT'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
