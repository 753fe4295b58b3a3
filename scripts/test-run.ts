// `npm test` and `npm run proof`: says what will run and how long that takes, prepares the one build that all nodes of
// the tests serve, and runs the parts.
import { isMissing, type Part, partsOf } from '../test/parts'
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

/** A name that is no part of the command is a mistake: running something else instead could pass. */
export function selected(command: Part['command'], args: readonly string[], missing = isMissing) {
  const all = partsOf(command)
  const firstFlag = args.findIndex((arg) => arg.startsWith('-'))
  const names = firstFlag < 0 ? args : args.slice(0, firstFlag)
  const wrong = names.find((name) => !all.some((part) => part.name === name))
  if (wrong !== undefined || all.length === 0)
    throw new Error(`${wrong ?? command} is no part of the tests here: ${all.map(({ name }) => name).join(', ')}`)
  const named = all.find((part) => names.includes(part.name) && missing(part))
  if (named)
    throw new Error(
      `${named.name} needs ${named.postgres?.folder} (Debian: apt-get install ${named.postgres?.package})`,
    )
  return {
    parts: all.filter((part) => (names.length > 0 ? names.includes(part.name) : !part.byNameOnly && !missing(part))),
    forVitest: args.slice(names.length),
  }
}

export function planOf(command: Part['command'], parts: readonly Part[], missing = isMissing): string {
  const minutes = parts.reduce((sum, part) => sum + part.minutes, 0)
  const rowOf = ({ name, what, minutes }: Part) => `  ${name.padEnd(11)} ${minutes.toFixed(1).padStart(4)} min  ${what}`
  const left = partsOf(command).filter((part) => part.byNameOnly && !parts.includes(part))
  const withoutPackage = partsOf(command).filter((part) => missing(part))
  return [
    `npm run ${command}: about ${Math.ceil(minutes)} minutes on two cores, once built.`,
    ...parts.map(rowOf),
    ...left.flatMap((part) => [`NOT RUN, only by its name, npm run ${command} -- ${part.name}:`, rowOf(part)]),
    ...withoutPackage.flatMap((part) => [
      `NOT RUN, because Debian's ${part.postgres?.package} is not installed:`,
      rowOf(part),
    ]),
    '',
  ].join('\n')
}
