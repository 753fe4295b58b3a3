// What most tests of the boundary begin with: a bench for their file, and for each test a provider, a key and an order of
// its own. To import it is enough: the hooks are those of the file that does.
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type Bench, newKey, openBench, orderOf, type ScriptedGateway, scriptedGateway } from '../support/boundary'

export let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

export let gateway: ScriptedGateway
export let key: string
export let body: ReturnType<typeof orderOf>
beforeEach(() => {
  gateway = scriptedGateway()
  key = newKey()
  body = orderOf()
})

export const place = (asking = {}) => bench.place(gateway, body, { key, ...asking })
