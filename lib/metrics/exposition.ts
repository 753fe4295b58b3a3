// What a scraper gets. The counters are this node's own and are always there; the gauges
// are the store's, and are left out while it can't be asked or takes too long: no value is better than an old one that
// looks like news.
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Store } from '../db/store'
import { log } from '../log'
import { type Gauges, readGauges } from './gauges'
import { PREFIX } from './names'

/** Well within Prometheus's own limit of ten seconds. */
const PATIENCE_MS = 2000

export interface Exposition {
  contentType: string
  text(): Promise<string>
}

/** Gauges with the ending of a counter, which Prometheus's own check of names refuses; other gauges say the same. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Of this process: CPU, memory, garbage collection, and how late its event loop is. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
}

export function openExposition(
  counters: Registry,
  store: Pick<Store, 'query'>,
  { patienceMs = PATIENCE_MS }: { patienceMs?: number } = {},
): Exposition {
  // Scrapes that meet share one reading, so that a slow store is asked once and not once a scrape.
  let reading: Promise<Gauges> | null = null

  function read(): Promise<Gauges> {
    reading ??= readGauges(store).finally(() => {
      reading = null
    })
    return reading
  }

  return {
    contentType: counters.contentType,
    async text() {
      const [own, gauges] = await Promise.all([
        counters.metrics(),
        within(patienceMs, read()).catch((error) => {
          log().warn({ err: error }, 'the gauges could not be read')
          return null
        }),
      ])
      return gauges ? `${own.trimEnd()}\n\n${await gaugeText(gauges)}` : own
    },
  }
}

function gaugeText(gauges: Gauges): Promise<string> {
  const registry = new Registry()
  const registers = [registry]
  const records = new Gauge({
    name: `${PREFIX}records`,
    help: 'Records by state, over all nodes; completed and expired are estimated where they are many',
    labelNames: ['state'],
    registers,
  })
  for (const [state, { count }] of Object.entries(gauges.records)) records.set({ state }, count)
  new Gauge({
    name: `${PREFIX}oldest_unknown_seconds`,
    help: 'Since the oldest unknown outcome became unknown; 0 where there is none',
    registers,
  }).set(gauges.oldestUnknownSeconds)
  new Gauge({
    name: `${PREFIX}dead_letters`,
    help: 'Records that wait for a person',
    registers,
  }).set(gauges.deadLetters)
  return registry.metrics()
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs)
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
