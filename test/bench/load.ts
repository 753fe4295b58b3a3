// Load on one contender, made by a process of its own: by wrk, which takes the least of the machine, where it is
// installed. A single answer that is not a 201 makes the whole measurement void.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { promisify } from 'node:util'
import { API_KEY, orderBody } from '../support/client'

/** For the highest rate: enough to keep PostgreSQL's group commit busy, few enough that nobody queues for seconds. */
const CONNECTIONS = 32
/** At a constant rate: more than are ever under way, so that nothing waits in the generator. */
const STEADY_CONNECTIONS = 128
const REPLAYED_KEYS = 1000
const PREPARING = 16
const LIMIT_SECONDS = 20

export interface Keys {
  prefix: string
  /** How many keys are sent over and over; 0: each only once. */
  size: number
  /** Where to begin. */
  first: number
}

export interface Task extends Keys {
  url: string
  headers: Record<string, string>
  /** With $ for the number. */
  body: string
  seconds: number
  connections: number
  /** Requests a second; null: as many as are answered. */
  rate: number | null
}

export interface Load {
  requests: number
  seconds: number
  /** How many were not answered with 201, by what became of them instead. */
  failed: Record<string, number>
  p50Ms: number
  p99Ms: number
}

const run = promisify(execFile)
const here = (name: string) => path.join(import.meta.dirname, name)
const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
const BODY = JSON.stringify(orderBody({ customerId: 'cus_$' }))

export const hasWrk: Promise<boolean> = run('wrk', ['-v']).then(
  () => true,
  // it says its version and ends with 1
  (error) => error.code !== 'ENOENT',
)

/** Keys that nobody has sent before: visible ASCII that no strict parser takes for a number or an address. */
export const freshKeys = (): Keys => ({ prefix: `bench-${randomBytes(4).toString('hex')}-`, size: 0, first: 0 })

/** As many orders as are answered in so many seconds. */
export async function press(url: string, keys: Keys, seconds: number): Promise<Load> {
  if (!(await hasWrk)) return generate({ ...taskOf(url, keys, seconds), connections: CONNECTIONS, rate: null })
  const task = taskOf(url, keys, seconds)
  const lines = Object.entries({ host: 'localhost', ...HEADERS }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST /api/orders HTTP/1.1\r\n${lines.join('')}`
  const load = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', `${LIMIT_SECONDS}s`, '-s', here('orders.lua')]
  const script = [head, BODY, keys.prefix, String(keys.size), String(keys.first)]
  const { stdout } = await run('wrk', [...load, task.url, '--', ...script])
  return sound(task.url, JSON.parse(stdout.trim().split('\n').at(-1)!))
}

/** So many fresh orders a second, whether they are answered or not. */
export const hold = (url: string, rate: number, seconds: number): Promise<Load> =>
  generate({ ...taskOf(url, freshKeys(), seconds), connections: STEADY_CONNECTIONS, rate })

const taskOf = (url: string, keys: Keys, seconds: number) => ({
  ...keys,
  url: `${url}/api/orders`,
  headers: HEADERS,
  body: BODY,
  seconds,
})

async function generate(task: Task): Promise<Load> {
  const { stdout } = await run(process.execPath, ['--import', 'tsx', here('generator.ts'), JSON.stringify(task)])
  return sound(task.url, JSON.parse(stdout))
}

function sound(url: string, load: Load): Load {
  const failed = Object.entries(load.failed).map(([why, count]) => `${count} ${why}`)
  if (failed.length > 0)
    throw new Error(`of ${load.requests} orders at ${url} not all were answered with 201: ${failed.join(', ')}`)
  return load
}

/** A set of keys whose orders are there: from now on each of them is a replay. */
export async function placedKeys(url: string): Promise<Keys> {
  const keys = { ...freshKeys(), size: REPLAYED_KEYS }
  let next = 0
  const client = async () => {
    for (let number = next++; number < keys.size; number = next++) {
      const first = await place(url, keys, number)
      // Once is enough: who answers anew does not take part in this.
      if (number === 0 && (await place(url, keys, number)) !== first) throw new Error(`${url} does not replay`)
    }
  }
  await Promise.all(Array.from({ length: PREPARING }, client))
  return keys
}

/** The request that is made of this number under load. */
async function place(url: string, { prefix }: Keys, number: number): Promise<string> {
  const digits = String(number).padStart(8, '0')
  const headers = { ...HEADERS, 'idempotency-key': prefix + digits }
  const response = await fetch(`${url}/api/orders`, { method: 'POST', headers, body: BODY.replace('$', digits) })
  const body = await response.text()
  if (response.status !== 201) throw new Error(`${url} answers an order with ${response.status}: ${body}`)
  return body
}
