// Pages, lists and orders are answered by one process and one database. However many people read, orders go on.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillRecords } from '../console/many-records'
import { freshKey, orderBody, send } from '../support/client'
import { type KeptConnection, keepConnection } from '../support/kept-connection'
import { openSite, type Site } from '../support/site'

const ADMIN = { ADMIN_EMAIL: 'admin@example.com', ADMIN_PASSWORD: 'a password of the tests' }
const RECORDS = 20_000
/** Orders that are under way at once. */
const BUYERS = 2
const ROUND_MS = 1500
const MOST_TIMES_SLOWER = 3
/** Something else that runs on this machine for a moment is no failure. */
const STEADY = { retry: 2 }

let site: Site
let cookie: string
let buyers: KeptConnection[]
beforeAll(async () => {
  site = await openSite(ADMIN)
  const db = new pg.Pool({ connectionString: site.databaseUrl, max: 1 })
  await fillRecords(db, RECORDS)
  await db.end()
  const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = ADMIN
  const headers = { 'content-type': 'application/json', origin: site.url }
  const signedIn = await send(`${site.url}/api/auth/sign-in`, { method: 'POST', headers, body: { email, password } })
  cookie = String(signedIn.headers['set-cookie']).split(';')[0]!
  buyers = Array.from({ length: BUYERS }, () => keepConnection(site.url))
  // What a node does for the first time takes longest.
  await placeOrders()
})
afterAll(async () => {
  for (const buyer of buyers ?? []) buyer.close()
  await site?.close()
})

interface Placed {
  medianMs: number
  /** By status. */
  answered: Record<number, number>
}

async function placeOrders(): Promise<Placed> {
  const took: number[] = []
  const answered: Record<number, number> = {}
  const endsAt = performance.now() + ROUND_MS
  await Promise.all(
    buyers.map(async (buyer) => {
      while (performance.now() < endsAt) {
        const askedAt = performance.now()
        const { status } = await buyer.order(freshKey(), orderBody())
        took.push(performance.now() - askedAt)
        answered[status] = (answered[status] ?? 0) + 1
      }
    }),
  )
  return { medianMs: took.sort((a, b) => a - b)[took.length >> 1]!, answered }
}

interface Reading {
  count: number
  paths: readonly string[]
  headers?: Record<string, string>
}

/** How much slower orders are while others read, how they are answered, and how the readers are: by status and path. */
async function placeOrdersWhile(reading: Reading) {
  const quiet = await placeOrders()
  const program = path.join(import.meta.dirname, '..', 'support', 'readers.mjs')
  const readers = fork(program, [JSON.stringify({ url: site.url, ...reading })])
  try {
    await once(readers, 'message')
    const { medianMs, answered } = await placeOrders()
    readers.send('stop')
    const [read] = (await once(readers, 'message')) as [Record<string, number>]
    const timesSlower = medianMs / quiet.medianMs
    if (process.env.READERS === 'tell') console.log({ quietMs: quiet.medianMs, medianMs, timesSlower, answered, read })
    return { timesSlower, statuses: Object.keys(answered), read }
  } finally {
    readers.kill()
  }
}

describe('orders stay within three times their quiet median, and none fails,', () => {
  test.each(['identity', 'gzip'])(
    'while 16 strangers read the API reference with %s encoding',
    STEADY,
    async (encoding) => {
      const headers = { 'accept-encoding': encoding }
      const { timesSlower, statuses, read } = await placeOrdersWhile({ count: 16, paths: ['/docs'], headers })
      expect(statuses).toEqual(['201'])
      expect(timesSlower).toBeLessThanOrEqual(MOST_TIMES_SLOWER)
      expect(Object.keys(read)).toEqual(['200 /docs'])
    },
  )

  test.each([
    ['lists and sums of the operator API', ['/api/admin/keys?limit=100', '/api/admin/stats?window=24h']],
    ['the overview and the list of keys', ['/', '/keys']],
    ['exports', ['/api/admin/keys/export']],
  ])('while 8 operators read %s', STEADY, async (_, paths) => {
    const { timesSlower, statuses, read } = await placeOrdersWhile({ count: 8, paths, headers: { cookie } })
    expect(statuses).toEqual(['201'])
    expect(timesSlower).toBeLessThanOrEqual(MOST_TIMES_SLOWER)
    expect(Object.keys(read).sort()).toEqual(paths.map((one) => `200 ${one}`).sort())
  })
})

test('of 60 readers of rendered pages, those beyond the queue get 503 while orders and probes are answered', async () => {
  const paths = ['/login', '/no/such/page']
  const reading = placeOrdersWhile({ count: 60, paths })
  const probes = ['/api/health', '/api/ready'].map((probe) => send(`${site.url}${probe}`))
  const { statuses, read } = await reading
  expect(statuses).toEqual(['201'])
  expect(Object.keys(read).sort()).toEqual(['200 /login', '404 /no/such/page', '503 /login', '503 /no/such/page'])
  expect((await Promise.all(probes)).map(({ status }) => status)).toEqual([200, 200])
})
