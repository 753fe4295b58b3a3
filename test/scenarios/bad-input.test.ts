// Whatever is sent to a node, it answers in its own words, soon, and goes on. The requests come from a grammar
// (./bad-input/requests.ts) of headers, bodies, paths, methods and all calls of the operator API, some of them right,
// so that the wrong ones get far. A failure shrinks; FUZZ_SEED and FUZZ_PATH of its message replay it.
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, freshKey, orderBody, SECRETS, until } from '../support/client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { startNode, type TestNode } from '../support/node'
import { SHORT_TIMES } from '../support/site'
import { mayHaveStored, problemIn } from './bad-input/judge'
import { heldBy, WITH_PROBE } from './bad-input/memory'
import { badRequest, brokenRequest, logged } from './bad-input/requests'
import { changedTables, isQuiet, openStored, type Stored } from './bad-input/stored'
import { makeThings } from './bad-input/things'
import { type BadRequest, exchange, render } from './bad-input/wire'

const MINUTES = Number(process.env.FUZZ_MINUTES ?? 0)
if (process.env.FUZZ_MINUTES && !(MINUTES > 0))
  throw new Error(`FUZZ_MINUTES is no number above 0: ${process.env.FUZZ_MINUTES}`)
/** A run sends up to this many requests at once. */
const AT_ONCE = 6
const RUNS = MINUTES > 0 ? Number.MAX_SAFE_INTEGER : Number(process.env.FUZZ_RUNS ?? 250)
const WARM_UP_RUNS = Math.min(100, Math.ceil(RUNS / 2))
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() & 0x7fffffff)
/** A replay finds the program by its path; warming up would only delay it. */
const PATH = process.env.FUZZ_PATH
const BROKEN_RUNS = Math.ceil(Math.min(RUNS, 4000) / 20)
const LIMIT_MS = MINUTES * 60_000

/**
 * A node comes to rest at some 18 MB above where the warm-up leaves it at worst, then keeps 0.2 KB of a request (12 000
 * of them, measured). So a short run sees only large leaks; the longer it is, the smaller they may be.
 */
const SLACK_BYTES = 20 * 1024 * 1024
const KEPT_BYTES = 1024

let database: TestDatabase
let node: TestNode
let db: pg.Pool
let stored: () => Promise<Stored>
let nameOf: (name: string) => string
/** None after a batch that failed: what is left of it is no fault of the smaller ones that it is shrunk to. */
let before: Stored | null = null

beforeAll(async () => {
  database = await cloneDatabase()
  node = await startNode({ databaseUrl: database.url, env: { ...SECRETS, ...SHORT_TIMES, ...WITH_PROBE } })
  db = new pg.Pool({ connectionString: database.url, max: 2 })
  const things = await makeThings(node.url, database.url)
  nameOf = (name) => (name === 'fresh' ? randomUUID() : (things[name] ?? name))
  stored = await openStored(db)
})
afterAll(async () => {
  await db?.end()
  await node?.stop()
  await database?.drop()
})

const tally: Record<string, number> = {}
let requests = 0

/** What the answers may have stored, once each of them is as it should be. */
async function sendAll(program: BadRequest[]): Promise<Set<string>> {
  const host = new URL(node.url).host
  const allowed = await Promise.all(
    program.map(async (request) => {
      const bytes = render(request, nameOf, host)
      const { answer, problem } = await exchange(node.url, bytes, { unfinished: request.framing === 'too long' })
        .then(({ answer }) => ({ answer, problem: answer && problemIn(request, answer) }))
        .catch((error) => {
          throw new Error(`${request.method} ${request.target}: ${error.message}`)
        })
      const label = answer ? `${answer.status} ${problem?.code ?? ''}`.trim() : 'closed'
      tally[label] = (tally[label] ?? 0) + 1
      requests++
      return mayHaveStored(request, answer, problem)
    }),
  )
  return new Set(allowed)
}

const storedAtRest = async (): Promise<Stored> => {
  await until(
    () => isQuiet(db),
    (quiet) => quiet,
    60_000,
  )
  return stored()
}

const answersAll = fc.asyncProperty(fc.array(badRequest, { minLength: 1, maxLength: AT_ONCE }), async (program) => {
  const start = before ?? (await storedAtRest())
  before = null
  const allowed = await sendAll(program)
  const end = await (allowed.has('all') ? storedAtRest() : stored())
  const audit = allowed.has('audit') ? ['public.audit_entries', 'public.audit_head', 'public.audit_refusals'] : []
  const wrong = changedTables(start, end).filter((name) => !audit.includes(name))
  if (!allowed.has('all')) expect(wrong).toEqual([])
  before = end
})

// Node tells who sends no end that it has none while the request is still looked at: what that leaves shows later.
const CLIENTS_TABLES = ['idempotency_records', 'orders', 'refunds', 'ledger_entries', 'misuse'].map(
  (name) => `public.${name}`,
)
const MONEY = [...CLIENTS_TABLES, 'sandbox.charges']

const check = async (numRuns: number, seed: number, path?: string, interruptAfterTimeLimit?: number) => {
  before = null
  await fc.assert(answersAll, { numRuns, seed, path, interruptAfterTimeLimit })
}

/** A refused request is held, and its body waited for, up to two seconds: whoever would still do something has done it. */
const beyondPatience = () => new Promise((resolve) => setTimeout(resolve, 2500))

/** The fastest of some fresh orders, one after the other: a busy machine slows down most of them, a worn-out node all. */
async function orderMs(): Promise<number> {
  const client = createClient(node.url)
  const times: number[] = []
  for (let i = 0; i < 15; i++) {
    const startedAt = performance.now()
    expect((await client.order(freshKey(), orderBody())).status).toBe(201)
    times.push(performance.now() - startedAt)
  }
  return Math.min(...times)
}

test('random requests cause no 5xx, no hang and no memory leak; a refused one gets an API problem and stores nothing', {
  timeout: 180_000 + LIMIT_MS,
}, async () => {
  console.log(`FUZZ_SEED=${SEED}${PATH ? ` FUZZ_PATH=${PATH}` : ''}`)
  if (PATH) return check(1, SEED, PATH)
  for (let i = 0; i < logged.length; i += AT_ONCE) await sendAll(logged.slice(i, i + AT_ONCE))
  await check(WARM_UP_RUNS, SEED ^ 1)
  await beyondPatience()
  const [msBefore, held, sent] = [await orderMs(), await heldBy(node), requests]
  await check(RUNS, SEED, undefined, LIMIT_MS || undefined)
  await beyondPatience()
  const after = await heldBy(node)
  const ms = await orderMs()
  const mb = (bytes: number) => Math.round(bytes / 1024 / 102.4) / 10
  console.log(
    `${requests} requests; held ${mb(held.bytes)} MB, then ${mb(after.bytes)} (RSS ${mb(held.rss)}, ${mb(after.rss)}); ` +
      `an order took ${msBefore.toFixed(1)} ms, then ${ms.toFixed(1)}\n${JSON.stringify(tally)}`,
  )
  expect(after.bytes - held.bytes).toBeLessThan(SLACK_BYTES + KEPT_BYTES * (requests - sent))
  expect(ms).toBeLessThan(3 * msBefore + 50)
})

test('a request that does not end correctly is answered or disconnected, and creates no order', {
  timeout: 120_000,
}, async () => {
  const start = await stored()
  const endsAll = fc.asyncProperty(
    fc.array(brokenRequest, { minLength: 1, maxLength: 2 * AT_ONCE }),
    async (program) => {
      await sendAll(program)
    },
  )
  await fc.assert(endsAll, { numRuns: BROKEN_RUNS, seed: SEED, path: PATH })
  await beyondPatience()
  const end = await stored()
  expect(changedTables(start, end).filter((name) => MONEY.includes(name))).toEqual([])
})
