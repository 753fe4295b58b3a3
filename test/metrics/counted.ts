// A node and what its counters do. Each test has a tenant of its own, so it sees what it caused itself and nothing else.

import { POST as placeOrder } from '../../app/api/orders/route'
import type { Step } from '../../lib/idempotency/boundary'
import { migrateJobs } from '../../lib/jobs/worker'
import { type DaemonKind, runOnce } from '../../lib/maintenance/daemon'
import type { Services } from '../../lib/node/services'
import { barrier } from '../support/boundary'
import { cloneDatabase } from '../support/database'
import { addTenant, runSql, type TestTenant } from '../support/tenant'
import { openNode, type Sent, send } from './node'

export const ORDERS = 'POST /api/orders'

export type Counts = Record<string, number>

export async function openCounted() {
  const database = await cloneDatabase()
  const node: Services = openNode(database.url)
  await migrateJobs(database.url)
  let tenant: TestTenant = await addTenant(database.url)

  const sqlOf = <Row>(text: string, ...values: unknown[]) => runSql<Row>(database.url, text, values)

  /** What this tenant's counters of the boundary are, without those at zero. */
  async function counters(endpoint = ORDERS): Promise<Counts> {
    const counts: Counts = {}
    for (const { name, values } of await node.metrics.registry.getMetricsAsJSON()) {
      const [, counter] = /^api_idempotency_(.*)_total$/.exec(name) ?? []
      for (const { value, labels } of values)
        if (counter && value > 0 && labels.tenant === tenant.id && labels.endpoint === endpoint) counts[counter] = value
    }
    return counts
  }

  return {
    node,
    sqlOf,
    counters,
    get tenant() {
      return tenant
    },
    async newTenant(): Promise<void> {
      tenant = await addTenant(database.url)
    },
    order: (sent: Omit<Sent, 'apiKey'>) => send(placeOrder, { apiKey: tenant.apiKey, ...sent }),
    run: (kind: DaemonKind) => runOnce(node.daemons.find(({ daemon }) => daemon.kind === kind)!.daemon),
    recordId: async (key: string) =>
      (await sqlOf<{ id: string }>('SELECT id FROM idempotency_records WHERE key = $1', key))[0]!.id,
    /** What the work added to this tenant's counters. */
    async counted(work: () => Promise<unknown>, endpoint?: string): Promise<Counts> {
      const before = await counters(endpoint)
      await work()
      const after = await counters(endpoint)
      const grown = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
      return Object.fromEntries(grown.filter(([, value]) => value !== 0))
    },
    /** Holds every attempt at a step until the test opens the barrier. */
    holdAt(step: Step) {
      const held = barrier()
      node.boundary.step = (passed) => (passed === step ? held.pass() : undefined)
      const letOthersPass = () => {
        node.boundary.step = undefined
      }
      return {
        reached: held.reached,
        letOthersPass,
        open() {
          letOthersPass()
          held.open()
        },
      }
    },
    async close(): Promise<void> {
      await node.close()
      await database.drop()
    },
  }
}

export type Counted = Awaited<ReturnType<typeof openCounted>>

export const statusOf = async (response: Promise<Response>): Promise<number> => (await response).status
