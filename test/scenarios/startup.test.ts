// From a clean copy to a served order with one command, and through every way of stopping and starting again. The
// tests are one story in one folder and run in order: installing and building once is slow enough.
import { execFileSync } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../scripts/port'
import { Checkout, type Start } from '../support/checkout'
import { isAlive, parentOf } from '../support/serving'

const READY_LIMIT_MS = 10_000
/** For processes to end and be collected; they take a fraction of it. */
const SOON = { timeout: 10_000, interval: 50 }

let checkout: Checkout
let port: number
let apiKey: string
let orderId: string
let first: Start
let second: Start

beforeAll(async () => {
  checkout = await Checkout.copy()
  port = await freePort()
})
afterAll(() => checkout?.remove())

const curl = (line: string) => execFileSync('bash', ['-c', line], { encoding: 'utf8', stdio: 'pipe' })
const get = (url: string) => fetch(url, { headers: { authorization: `Bearer ${apiKey}` } })

async function orderIds(node: Start): Promise<string[]> {
  const { items } = (await (await get(`${node.url}/api/orders`)).json()) as { items: { id: string }[] }
  return items.map((order) => order.id)
}

function slowOrder(key: string): Promise<Response> {
  return fetch(`${first.url}/api/orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'idempotency-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      customerId: 'cus_1',
      currency: 'USD',
      items: [{ sku: 'SKU-1', quantity: 1, unitPriceCents: 100 }],
      paymentMethod: 'pm_slow_2000',
    }),
  })
}

async function untilRecorded(key: string): Promise<void> {
  const record = () => get(`${first.url}/api/idempotency-keys/${key}`).then(({ status }) => status)
  await expect.poll(record, { interval: 20 }).toBe(200)
}

function expectQuick(start: Start): void {
  expect(start.output()).not.toMatch(/Installing|Building/)
  expect(start.readyMs).toBeLessThan(READY_LIMIT_MS)
}

async function expectAllStopped(): Promise<void> {
  await expect.poll(() => checkout.databaseRuns(), SOON).toBe(false)
  await expect.poll(() => checkout.processes(), SOON).toEqual([])
}

it('installs, makes its database, builds, and prints what is needed to send an order', async () => {
  first = await checkout.start({ PORT: String(port) })
  await expect.poll(first.output).toMatch(/curl .*\n/)
  expect(first.output()).toContain('Installing')
  expect(first.output()).toContain('Building')
  expect(first.url).toBe(`http://localhost:${port}`)
  expect(first.output()).toMatch(/admin@\S+ \/ \S+/)
  const line = /curl .*/.exec(first.output())?.[0] as string
  apiKey = /Bearer ([^"']+)/.exec(line)?.[1] as string

  const answer = curl(line)
  expect(answer).toMatch(/^HTTP\/1.1 201 /)
  const replay = curl(line)
  expect(replay).toMatch(/^HTTP\/1.1 201 /)
  expect(replay).toMatch(/^idempotent-replayed: true\r$/im)
  orderId = JSON.parse(answer.split('\r\n\r\n')[1] as string).id
  expect(replay).toContain(orderId)
})

it('starts a second time beside the first, on the next port and the same database', async () => {
  second = await checkout.start({ PORT: String(port) })
  expectQuick(second)
  expect(second.output()).toContain(`Port ${port} is taken`)
  expect(second.url).not.toBe(first.url)
  expect(await orderIds(second)).toEqual([orderId])
})

it('keeps the database for the second when the first is ended with Ctrl-C', async () => {
  await first.signalAll('SIGINT')
  await expect(get(`${first.url}/api/health`)).rejects.toThrow()
  expect(await orderIds(second)).toEqual([orderId])
})

it('stops the database with the last one, also where npm alone gets the signal', async () => {
  await second.signalNpm('SIGTERM')
  await expectAllStopped()
})

it('starts again within seconds, with the data and without a build', async () => {
  first = await checkout.start({ PORT: String(port) })
  expectQuick(first)
  expect(await orderIds(first)).toEqual([orderId])
})

it('answers the request under way when it is asked to end', async () => {
  const answer = slowOrder('a-request-under-way-at-sigterm')
  await untilRecorded('a-request-under-way-at-sigterm')
  await first.signalAll('SIGTERM')
  expect((await answer).status).toBe(201)
  await expectAllStopped()
})

it('starts again after it was killed with all that it had in the foreground', async () => {
  first = await checkout.start({ PORT: String(port) })
  await first.signalAll('SIGKILL')
  first = await checkout.start({ PORT: String(port) })
  expectQuick(first)
  expect(await orderIds(first)).toHaveLength(2)
  await first.signalAll('SIGINT')
  await expectAllStopped()
})

it('serves with several processes, which end with the one that started them, and starts them again', async () => {
  first = await checkout.start({ PORT: String(port), WEB_CONCURRENCY: '2' })
  expectQuick(first)
  const serving = checkout
    .processes()
    .filter((line) => line.includes('serving-process'))
    .map((line) => Number.parseInt(line, 10))
  expect(serving).toHaveLength(2)
  const answer = slowOrder('a-request-under-way-at-sigkill')
  await untilRecorded('a-request-under-way-at-sigkill')
  process.kill(parentOf(serving[0] as number), 'SIGKILL')
  expect((await answer).status).toBe(201)
  await expect.poll(() => serving.some(isAlive), SOON).toBe(false)

  first = await checkout.start({ PORT: String(port), WEB_CONCURRENCY: '2' })
  expectQuick(first)
  expect(first.url).toBe(`http://localhost:${port}`)
  expect(first.output().match(/ready at/g)).toHaveLength(1)
  expect(await orderIds(first)).toHaveLength(3)
  await first.signalAll('SIGINT')
  await expectAllStopped()
})

it('heals what a start that was cut short left behind', async () => {
  await rm(checkout.path('.next', '.stamp'))
  await mkdir(checkout.path('.data', 'postgres.new-cut', 'data'), { recursive: true })
  await writeFile(checkout.path('.data', 'start.lock'), '')
  await writeFile(checkout.path('.data', 'postgres.json.new'), '{')
  first = await checkout.start({ PORT: String(port) })
  expect(first.output()).toContain('Building')
  expect(await orderIds(first)).toContain(orderId)
  await first.signalAll('SIGINT')
  await expectAllStopped()
})

it.each([
  ['LEASE_SECONDS', 'abc'],
  ['LEASE_SECONDS', '5'],
  ['PORT', 'http'],
  ['WEB_CONCURRENCY', '0'],
  ['DATABASE_URL', 'mysql://localhost/orders'],
])('refuses %s=%s with one line that names it, and starts nothing', async (name, value) => {
  const { exit, output } = checkout.npmStart({ [name]: value })
  expect(await exit).not.toBe(0)
  const lines = output()
    .split('\n')
    .filter((line) => line && !/^(>|npm )/.test(line))
  expect(lines).toEqual([expect.stringContaining(name)])
  expect(checkout.databaseRuns()).toBe(false)
})
