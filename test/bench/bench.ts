// `npm run bench`: the table of ratios, on standard output; what happens meanwhile, on standard error.
//   --rows fresh,replay   only these
//   --memory              this as well, which takes minutes more
//   --rounds 5 --seconds 4
import { parseArgs } from 'node:util'
import { contender } from './contenders'
import { hasWrk } from './load'
import { runRounds } from './rounds'
import type { Measured, Row } from './row'
import { ROWS } from './rows'
import { openStand, type Stand } from './stand'
import { footnotes, ratesTable, tableOf } from './table'

const { values: asked } = parseArgs({
  options: {
    rows: { type: 'string' },
    memory: { type: 'boolean' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
  },
})
const say = (line: string) => console.error(line)
const options = { rounds: positive('rounds'), seconds: positive('seconds'), say }
const rows = wanted()

const wrk = await hasWrk
if (!wrk) say('wrk is not installed (Debian: apt-get install wrk); a slower generator takes its place.')
const stand = await openStand()
try {
  if (!stand.hasRedis)
    say('redis-server is not installed (Debian: apt-get install redis-server); its rows are left out.')
  const possible = rows.filter((row) => !lacking(row, stand))
  const trials = possible.flatMap((row) => row.trials)
  const rates = await runRounds(stand, trials, options)
  const results: [Row, Measured | string][] = []
  for (const row of rows) results.push([row, lacking(row, stand) ?? (await row.measure({ ...options, stand, rates }))])
  console.log(`${tableOf(results)}\n\n${ratesTable(rates)}\n`)
  for (const [row, measured] of results)
    if (typeof measured !== 'string' && measured.detail) console.log(`${row.name}: ${measured.detail}.\n`)
  console.log(footnotes({ ...options, wrk }))
} finally {
  await stand.close()
}

function wanted(): Row[] {
  const named = asked.rows?.split(',')
  const unknown = named?.find((name) => !ROWS.some((row) => row.name === name))
  if (unknown) throw new Error(`no row is called ${unknown}: ${[...new Set(ROWS.map((row) => row.name))].join(', ')}`)
  return ROWS.filter(
    (row) => (asked.memory && row.name === 'memory') || (named ? named.includes(row.name) : !row.onRequest),
  )
}

/** What a row would need and this machine does not have. */
function lacking(row: Row, { hasRedis }: Stand): string | null {
  const needsRedis = row.trials.some((trial) => contender(trial.contender).needsRedis)
  return needsRedis && !hasRedis ? 'no redis-server' : null
}

function positive(name: 'rounds' | 'seconds'): number {
  const value = Number(asked[name])
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1 on`)
  return value
}
