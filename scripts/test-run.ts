// `npm test` and `npm run proof`: says what will run and how long that takes, prepares the one build that all nodes of
// the tests serve, and runs the parts.
import { type Part, partsOf } from '../test/parts'
import { ensureBuild } from './build'
import type { Lock } from './lock.mjs'
import { runTool } from './run-tool'

interface RunContext {
  root: string
  command: Part['command']
  /** Names of parts first; from the first dash on, Vitest's own. */
  args: readonly string[]
  say: (line: string) => void
  startLock: Lock
  stopping: AbortSignal
}

export async function runParts({ root, command, args, say, startLock, stopping }: RunContext): Promise<number> {
  const { parts, forVitest } = selected(command, args)
  say(planOf(command, parts))
  await ensureBuild({ root, say, signal: stopping })
  // The tests start nodes of their own, each of which takes it for a moment.
  await startLock.release()
  const projects = parts.flatMap(({ name }) => ['--project', name])
  return runTool({
    root,
    program: 'vitest/vitest.mjs',
    args: ['run', ...projects, ...forVitest],
    env: { NODE_ENV: 'test' },
    stopping,
  })
}

export function selected(command: Part['command'], args: readonly string[]) {
  const all = partsOf(command)
  const names = args.filter((arg) => all.some(({ name }) => name === arg))
  const forVitest = args.filter((arg) => !names.includes(arg))
  return { parts: names.length > 0 ? all.filter(({ name }) => names.includes(name)) : all, forVitest }
}

export function planOf(command: string, parts: readonly Part[]): string {
  const minutes = parts.reduce((sum, part) => sum + part.minutes, 0)
  const rows = parts.map(
    ({ name, what, minutes }) => `  ${name.padEnd(10)} ${minutes.toFixed(1).padStart(4)} min  ${what}`,
  )
  return [`npm run ${command}: about ${Math.ceil(minutes)} minutes on two cores, once built.`, ...rows, ''].join('\n')
}
