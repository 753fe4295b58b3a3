// `npm run model`: the formal model of one key, checked exhaustively. Ends with 1 where a property does not hold or
// fail as it is wanted to, and where a search was not complete: half a search proves nothing.
//   npm run model -- --full         the larger worlds too
//   npm run model -- --only R_LOOK  the rows that say so, in their name or their rule
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { ROWS, type Row } from './model-rows'

const MODEL = path.resolve(import.meta.dirname, '../docs/model/once.pml')
const LIVENESS = 5
/** The longest row of every day takes a tenth of this on a quiet core. */
const ROW_LIMIT_MS = 600_000
const FULL_LIMIT_MS = 3_600_000
/** Beyond the deepest path (a thousand steps, with fairness a few thousand), and what a laptop has to spare. */
const SEARCH_DEPTH = 1_000_000
const MEMORY_MB = 8000

interface Checked {
  result: 'holds' | 'fails' | 'incomplete'
  states: number
}

const { values: options } = parseArgs({
  options: { full: { type: 'boolean', default: false }, only: { type: 'string' } },
})

for (const tool of ['spin', 'gcc'])
  if (spawnSync(tool, [tool === 'spin' ? '-V' : '--version']).error) {
    console.error(
      `${tool} is missing: the model is checked by spin and gcc (Debian: apt-get install spin gcc libc6-dev)`,
    )
    process.exit(1)
  }

function command(folder: string, name: string, args: string[], timeout = ROW_LIMIT_MS): { said: string; ok: boolean } {
  const ran = spawnSync(name, args, { cwd: folder, timeout, encoding: 'utf8', maxBuffer: 64 << 20 })
  return { said: `${ran.stdout}${ran.stderr}`, ok: ran.status === 0 }
}

function mustRun(folder: string, name: string, args: string[]): void {
  const { said, ok } = command(folder, name, args)
  if (!ok) throw new Error(`${name} ${args.join(' ')}\n${said}`)
}

const flagsOf = ({ property, world, without }: Row): string[] => [
  `-DP=${property}`,
  ...Object.entries(world ?? {}).map(([name, value]) => `-D${name}=${value}`),
  ...(without ? [`-D${without}=0`] : []),
]

function check(folder: string, row: Row): Checked {
  const live = row.property === LIVENESS
  mustRun(folder, 'spin', ['-a', ...flagsOf(row), 'once.pml'])
  const kind = live ? '-DNFAIR=3' : '-DSAFETY'
  mustRun(folder, 'gcc', ['-O2', '-w', kind, `-DMEMLIM=${MEMORY_MB}`, '-o', 'pan', 'pan.c'])
  const search = live ? ['-a', '-f'] : ['-E']
  const limitMs = row.full ? FULL_LIMIT_MS : ROW_LIMIT_MS
  return read(command(folder, './pan', [...search, `-m${SEARCH_DEPTH}`, '-w25'], limitMs).said)
}

function read(said: string): Checked {
  const errors = Number(/errors: (\d+)/.exec(said)?.[1] ?? Number.NaN)
  const states = Number(/([\d.e+]+) states, stored/.exec(said)?.[1] ?? 0)
  const violated = /assertion violated|acceptance cycle/.test(said) && !/indexing/.test(said)
  if (errors > 0 && violated) return { result: 'fails', states }
  const broken = /Search not completed|max search depth too small|out of memory/i.test(said)
  return { result: errors === 0 && !broken ? 'holds' : 'incomplete', states }
}

const worldOf = ({ world }: Row): string =>
  Object.entries(world ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')

const WIDTHS = [5, 49, 13, 42, 7, 11, 12, 8]
const line = (cells: readonly (string | number)[]): string =>
  cells
    .map((cell, i) => (typeof cell === 'number' ? `${cell} `.padStart(WIDTHS[i]!) : cell.padEnd(WIDTHS[i]!)))
    .join('')

const about = ({ only }: typeof options, row: Row): boolean =>
  only === undefined || row.what.includes(only) || row.without === only

const rows = ROWS.filter((row) => (options.full || !row.full) && about(options, row))
const folder = mkdtempSync(path.join(tmpdir(), 'onceover-model-'))
const startedMs = performance.now()
let wrong = 0
let explored = 0
try {
  copyFileSync(MODEL, path.join(folder, 'once.pml'))
  console.log(line(['', 'what', 'without', 'world', 'wanted', 'is', 'states', 'seconds', '']))
  for (const [i, row] of rows.entries()) {
    if (process.stdout.isTTY) process.stdout.write(`${i + 1} of ${rows.length}: ${row.what} …`)
    const rowStartedMs = performance.now()
    const { result, states } = check(folder, row)
    const seconds = Math.round((performance.now() - rowStartedMs) / 1000)
    const ok = result === row.wanted
    if (!ok) wrong++
    explored += states
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
    const cells = [`P${row.property}`, row.what, row.without ?? '', worldOf(row), row.wanted, result, states, seconds]
    console.log(line(cells) + (ok ? ' ok' : ' WRONG'))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const seconds = Math.round((performance.now() - startedMs) / 1000)
console.log(`${rows.length} rows, ${wrong} wrong, ${explored} states, ${seconds} s`)
if (wrong > 0 || rows.length === 0) process.exitCode = 1
