// What a scraper sees of several processes is their sum, and it never sees less than before.
import { AggregatorRegistry, Counter, Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import type { Numbers } from '../../lib/metrics/exposition'
import { openSummedNumbers } from '../../scripts/summed-numbers'
import { parseText, sumOf } from '../metrics/prometheus-text'

function counting() {
  const registry = new Registry()
  const registers = [registry]
  const orders = new Counter({ name: 'orders_total', help: 'orders', labelNames: ['tenant'], registers })
  const took = new Histogram({ name: 'took_seconds', help: 'time', labelNames: ['tenant'], buckets: [1, 2], registers })
  return {
    orders,
    took,
    // As it comes over a channel between two processes.
    tell: async (): Promise<Numbers> => JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())),
  }
}

const read = async (numbers: Numbers) =>
  parseText(await AggregatorRegistry.aggregate([JSON.parse(JSON.stringify(numbers))]).metrics())

it('counters and histograms of several processes are summed series by series', async () => {
  const [a, b] = [counting(), counting()]
  a.orders.inc({ tenant: 'one' }, 2)
  b.orders.inc({ tenant: 'one' }, 3)
  b.orders.inc({ tenant: 'two' }, 5)
  a.took.observe({ tenant: 'one' }, 0.5)
  b.took.observe({ tenant: 'one' }, 1.5)
  const numbers = openSummedNumbers()
  numbers.told(a, await a.tell())
  numbers.told(b, await b.tell())
  const families = await read(numbers.sum())
  expect(sumOf(families, 'orders_total', { tenant: 'one' })).toBe(5)
  expect(sumOf(families, 'orders_total', { tenant: 'two' })).toBe(5)
  expect(sumOf(families, 'took_seconds_bucket', { tenant: 'one', le: '1' })).toBe(1)
  expect(sumOf(families, 'took_seconds_bucket', { tenant: 'one', le: '2' })).toBe(2)
  expect(sumOf(families, 'took_seconds_sum')).toBe(2)
})

it('the sum keeps the last numbers of every process that has exited', async () => {
  const numbers = openSummedNumbers()
  for (let generation = 1; generation <= 3; generation++) {
    const one = counting()
    one.orders.inc({ tenant: 'one' }, 1)
    numbers.told(one, await one.tell())
    one.orders.inc({ tenant: 'one' }, 1)
    numbers.told(one, await one.tell())
    expect(sumOf(await read(numbers.sum()), 'orders_total')).toBe(2 * generation)
    numbers.left(one)
    expect(sumOf(await read(numbers.sum()), 'orders_total')).toBe(2 * generation)
  }
})
