// `npm start` with the embedded database in an installed and built checkout, and every way of stopping it and starting it
// again. One story in one folder, in order.
import net from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../scripts/port'
import { Checkout, type Start } from '../support/checkout'
import {
  beginSlowOrder,
  expectAllStopped,
  expectNoBuild,
  type FirstOrder,
  orderIds,
  pasteFirstOrder,
} from '../support/started'

let checkout: Checkout
let port: number
let first: Start
let second: Start
let order: FirstOrder

beforeAll(async () => {
  checkout = await Checkout.copyBuilt()
  port = await freePort()
})
afterAll(() => checkout?.remove())

/** All that is not npm's own. */
const linesOf = (output: string) => output.split('\n').filter((line) => line && !/^(>|npm )/.test(line))
const orders = (node: Start) => orderIds(node, order.apiKey)

it('the first npm start creates its database and an admin, and prints a command that places an order', async () => {
  first = await checkout.start({ PORT: String(port) })
  expectNoBuild(first)
  order = await pasteFirstOrder(first)
  expect(first.url).toBe(`http://localhost:${port}`)
  expect(first.output()).toMatch(/admin@\S+ \/ \S+/)
})

it('a second npm start on the port of the first is refused with one line, and the first serves on', async () => {
  const { exit, output } = checkout.run({ PORT: String(port) })
  expect(await exit).not.toBe(0)
  expect(linesOf(output())).toEqual([`Onceover could not start: port ${port} is taken.`])
  expect(await orders(first)).toEqual([order.id])
})

it('a second npm start without PORT takes the next port from 3000 on that is free, and the same database', async () => {
  // Where somebody else has it already, it is as taken as it has to be.
  const other = net.createServer().on('error', () => {})
  await new Promise((resolve) => other.listen(3000, () => resolve(null)).once('error', resolve))
  second = await checkout.start({})
  other.close()
  expectNoBuild(second)
  expect(second.output()).toContain('Port 3000 is taken')
  expect(second.url).not.toBe(first.url)
  expect(await orders(second)).toEqual([order.id])
})

it('the embedded database stays up for the second node when Ctrl-C ends the first', async () => {
  await first.signalAll('SIGINT')
  await expect(fetch(`${first.url}/api/health`)).rejects.toThrow()
  expect(await orders(second)).toEqual([order.id])
})

it('the embedded database stops with the last node, even when only npm gets the signal', async () => {
  await second.signalCommand('SIGTERM')
  await expectAllStopped(checkout)
})

it('npm start after a stop serves the same data without a build', async () => {
  first = await checkout.start({ PORT: String(port) })
  expectNoBuild(first)
  expect(await orders(first)).toEqual([order.id])
})

it('a node that gets SIGTERM answers the request under way before it stops', async () => {
  const { answer } = await beginSlowOrder(first, order.apiKey, 'a-request-under-way-at-sigterm')
  await first.signalAll('SIGTERM')
  expect((await answer).status).toBe(201)
  await expectAllStopped(checkout)
})

it('npm start works again with the same data after its whole process group was killed', async () => {
  first = await checkout.start({ PORT: String(port) })
  await first.signalAll('SIGKILL')
  first = await checkout.start({ PORT: String(port) })
  expectNoBuild(first)
  expect(await orders(first)).toHaveLength(2)
  await first.signalAll('SIGINT')
  await expectAllStopped(checkout)
})

it.each<[string[], NodeJS.Signals]>([
  [['node', 'scripts/start.mjs'], 'SIGHUP'],
  [['sh', '-c', 'node scripts/start.mjs'], 'SIGTERM'],
  [['npx', '-c', 'node scripts/start.mjs'], 'SIGTERM'],
])('a node started by %j stops when that command alone gets %s', async (command, signal) => {
  first = await checkout.start({ PORT: String(port) }, command)
  await first.signalCommand(signal)
  await expectAllStopped(checkout)
})

it('a start whose database can’t be reached is refused with one line', async () => {
  const { exit, output } = checkout.run({ DATABASE_URL: `postgresql://localhost:${await freePort()}/none` })
  expect(await exit).not.toBe(0)
  expect(linesOf(output())).toEqual([expect.stringMatching(/^Onceover could not start: the database can't be reached/)])
})

it.each([
  ['LEASE_SECONDS', 'abc'],
  ['LEASE_SECONDS', '5'],
  ['PORT', 'http'],
  ['DATABASE_URL', 'mysql://localhost/orders'],
])('%s=%s makes npm start fail with one line that names the variable', async (name, value) => {
  const { exit, output } = checkout.run({ [name]: value })
  expect(await exit).not.toBe(0)
  expect(linesOf(output())).toEqual([expect.stringContaining(name)])
  expect(checkout.databaseRuns()).toBe(false)
})
