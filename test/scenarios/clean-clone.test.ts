// From a clean copy to a served order with one command. One story in one folder, in order: installing and building is
// slow enough once. test/scenarios/start-and-stop.test.ts has what an installed and built checkout shows as well.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../scripts/port'
import { Checkout, type Start } from '../support/checkout'
import { expectAllStopped, expectNoBuild, type FirstOrder, orderIds, pasteFirstOrder } from '../support/started'

/** The quickest of some starts: what else the machine does is no part of the promise. */
const READY_LIMIT_MS = 10_000
const STARTS = 3

let checkout: Checkout
let port: number
let node: Start
let order: FirstOrder

beforeAll(async () => {
  checkout = await Checkout.copy()
  port = await freePort()
})
afterAll(() => checkout?.remove())

it('npm start in a clean clone installs, creates its database, builds and serves orders', async () => {
  node = await checkout.start({ PORT: String(port) })
  order = await pasteFirstOrder(node)
  expect(node.output()).toContain('Installing')
  expect(node.output()).toContain('Building')
  expect(node.url).toBe(`http://localhost:${port}`)
  await node.signalAll('SIGINT')
  await expectAllStopped(checkout)
})

it('a built node is ready within ten seconds', async () => {
  const readyMs: number[] = []
  for (let i = 0; i < STARTS; i++) {
    node = await checkout.start({ PORT: String(port) })
    expectNoBuild(node)
    readyMs.push(node.readyMs)
    await node.signalAll('SIGINT')
    await expectAllStopped(checkout)
  }
  expect(Math.min(...readyMs)).toBeLessThan(READY_LIMIT_MS)
})

it('a start after an interrupted start builds again and keeps the data', async () => {
  await rm(checkout.path('.next', '.stamp'))
  await mkdir(checkout.path('.data', 'postgres.new-cut', 'data'), { recursive: true })
  await writeFile(checkout.path('.data', 'start.lock'), '')
  await writeFile(checkout.path('.data', 'postgres.json.new'), '{')
  node = await checkout.start({ PORT: String(port) })
  expect(node.output()).toContain('Building')
  expect(await orderIds(node, order.apiKey)).toContain(order.id)
  await node.signalAll('SIGINT')
  await expectAllStopped(checkout)
})
