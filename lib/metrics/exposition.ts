// What a scraper gets. The counters are those of all processes that serve this port and are always there; the gauges
// are the store's, and are left out while it can't be asked or takes too long: no value is better than an old one that
// looks like news.
import { AggregatorRegistry, Gauge, Registry } from 'prom-client'
import type { Store } from '../db/store'
import { log } from '../log'
import { type Gauges, readGauges } from './gauges'
import { PREFIX } from './names'

/** Well within Prometheus's own limit of ten seconds. */
const PATIENCE_MS = 2000

/** A process's counters and histograms, as it can tell them to another. */
export type Numbers = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export interface Exposition {
  contentType: string
  text(): Promise<string>
}

export function openExposition(
  counters: Registry,
  store: Pick<Store, 'query'>,
  /** `together`: where this is one of several processes, the sum of all, this one's own included. */
  { patienceMs = PATIENCE_MS, together }: { patienceMs?: number; together?: () => Promise<Numbers> } = {},
): Exposition {
  // Scrapes that meet share one reading, so that a slow store is asked once and not once a scrape.
  let reading: Promise<Gauges> | null = null

  function read(): Promise<Gauges> {
    reading ??= readGauges(store).finally(() => {
      reading = null
    })
    return reading
  }

  async function counted(): Promise<string> {
    return together ? AggregatorRegistry.aggregate([await together()]).metrics() : counters.metrics()
  }

  return {
    contentType: counters.contentType,
    async text() {
      const [own, gauges] = await Promise.all([
        counted(),
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
