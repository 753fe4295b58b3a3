// Sample traffic from a terminal: every kind of key through the real API, at a rate, for as long as one likes.
//   npm run traffic -- --rate 5 --minutes 2 --url http://localhost:3000 --key $ONCEOVER_API_KEY
import { parseArgs } from 'node:util'
import { samplePlan } from '../lib/traffic/plan'
import { sendPlan } from '../lib/traffic/send'

const DEFAULT_RATE = 6
const MAX_RATE = 200
const MAX_MINUTES = 24 * 60

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: String(DEFAULT_RATE) },
    minutes: { type: 'string' },
    url: { type: 'string', default: process.env.ONCEOVER_URL ?? 'http://localhost:3000' },
    key: { type: 'string', default: process.env.ONCEOVER_API_KEY ?? process.env.DEMO_API_KEY },
  },
})

function between(name: string, text: string, most: number): number {
  const number = Number(text)
  if (number > 0 && number <= most) return number
  console.error(`--${name} must be a number above 0, at most ${most}`)
  process.exit(2)
}

const rate = between('rate', values.rate, MAX_RATE)
const minutes = values.minutes === undefined ? null : between('minutes', values.minutes, MAX_MINUTES)
if (!values.key) {
  console.error('Say which API key to use: --key, or ONCEOVER_API_KEY in the environment')
  process.exit(2)
}

const stopping = new AbortController()
process.once('SIGINT', () => stopping.abort())
process.once('SIGTERM', () => stopping.abort())

const portion = samplePlan()
const steps = minutes === null ? portion.length : Math.ceil(rate * 60 * minutes)
const plan = Array.from({ length: steps }, (_, i) => portion[i % portion.length]!)
const totals: Record<string, number> = {}
let requests = 0

try {
  const options = { rate, signal: stopping.signal }
  for await (const sent of sendPlan({ url: values.url, apiKey: values.key }, plan, options)) {
    requests += sent.requests
    for (const [status, times] of Object.entries(sent.statuses)) totals[status] = (totals[status] ?? 0) + times
    const tally = Object.entries(totals).map(([status, times]) => `${status}: ${times}`)
    if (process.stdout.isTTY) process.stdout.write(`\r${requests} requests  ${tally.join('  ')}   `)
  }
  if (process.stdout.isTTY) process.stdout.write('\r')
  console.log(`${requests} requests sent to ${values.url}`)
  for (const [status, times] of Object.entries(totals).sort()) console.log(`  ${status}  ${times}`)
} catch (error) {
  console.error(`The API at ${values.url} could not be reached: ${(error as Error).message}`)
  process.exitCode = 1
}
