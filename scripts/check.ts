import { ensureClient } from './build'
import type { Lock } from './lock.mjs'
import { runTool } from './run-tool'

interface CheckContext {
  root: string
  say: (line: string) => void
  startLock: Lock
  stopping: AbortSignal
}

const VITEST = 'vitest/vitest.mjs'

/** The quickest first. What may import what is a rule of the linter. */
const STEPS: readonly [title: string, program: string, ...args: string[]][] = [
  ['Format, lint and room rules', '@biomejs/biome/bin/biome', 'check', '.'],
  ['Dead code and unused dependencies', 'knip/bin/knip.js', '--no-progress', '--treat-config-hints-as-errors'],
  ['Types of routes', 'next/dist/bin/next', 'typegen'],
  ['Types of the whole tree', 'typescript/bin/tsc', '--noEmit'],
  ['Tests that need no database', VITEST, 'run', '--project', 'unit'],
]

export async function check({ root, say, startLock, stopping }: CheckContext): Promise<number> {
  await ensureClient({ root, say, signal: stopping })
  await startLock.release()
  const begunAt = performance.now()
  for (const [title, program, ...args] of STEPS) {
    say(`\n▸ ${title}`)
    const stepBegunAt = performance.now()
    const code = await runTool({ root, program, args, stopping, env: program === VITEST ? { NODE_ENV: 'test' } : {} })
    say(`  ${code === 0 ? 'passed' : 'FAILED'} after ${secondsSince(stepBegunAt)} s`)
    if (code !== 0) return code
  }
  say(`\nnpm run check passed in ${secondsSince(begunAt)} s.`)
  return 0
}

const secondsSince = (instant: number): string => ((performance.now() - instant) / 1000).toFixed(1)
