// What a person does with a node that `npm start` has just started: paste the line that it prints, list orders, and look
// whether everything has ended.
import { execFileSync } from 'node:child_process'
import { expect } from 'vitest'
import type { Checkout, Start } from './checkout'

/** For processes to end and be collected; they take a fraction of it. */
const SOON = { timeout: 30_000, interval: 50 }

export interface FirstOrder {
  id: string
  apiKey: string
}

/** Pastes the printed line twice: the first answer is the order, the second one its replay. */
export async function pasteFirstOrder({ output }: Start): Promise<FirstOrder> {
  await expect.poll(output).toMatch(/curl .*\n/)
  const line = /curl .*/.exec(output())?.[0] as string
  const curl = () => execFileSync('bash', ['-c', line], { encoding: 'utf8', stdio: 'pipe' })
  const answer = curl()
  expect(answer).toMatch(/^HTTP\/1.1 201 /)
  const replay = curl()
  expect(replay).toMatch(/^HTTP\/1.1 201 /)
  expect(replay).toMatch(/^idempotent-replayed: true\r$/im)
  const { id } = JSON.parse(answer.split('\r\n\r\n')[1] as string)
  expect(replay).toContain(id)
  return { id, apiKey: /Bearer ([^"']+)/.exec(line)?.[1] as string }
}

const get = (url: string, apiKey: string) => fetch(url, { headers: { authorization: `Bearer ${apiKey}` } })

export async function orderIds({ url }: Start, apiKey: string): Promise<string[]> {
  const { items } = (await (await get(`${url}/api/orders`, apiKey)).json()) as { items: { id: string }[] }
  return items.map((order) => order.id)
}

/** Sends an order that takes two seconds, and resolves once the node has reserved it. */
export async function beginSlowOrder({ url }: Start, apiKey: string, key: string) {
  const answer = fetch(`${url}/api/orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'idempotency-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      customerId: 'cus_1',
      currency: 'USD',
      items: [{ sku: 'SKU-1', quantity: 1, unitPriceCents: 100 }],
      paymentMethod: 'pm_slow_2000',
    }),
  })
  const record = () => get(`${url}/api/idempotency-keys/${key}`, apiKey).then(({ status }) => status)
  await expect.poll(record, { interval: 20 }).toBe(200)
  return { answer }
}

/** A start that waits for something stale would take as long as that lasts. */
const MUCH_TOO_LONG_MS = 60_000

export function expectNoBuild(start: Start): void {
  expect(start.output()).not.toMatch(/Installing|Building/)
  expect(start.readyMs).toBeLessThan(MUCH_TOO_LONG_MS)
}

export async function expectAllStopped(checkout: Checkout): Promise<void> {
  await expect.poll(() => checkout.databaseRuns(), SOON).toBe(false)
  await expect.poll(() => checkout.processes(), SOON).toEqual([])
}
