// A node's life: what has to be there before the first request, and what has to end before the process may.

import { servedPort } from '../config'
import { readDatabaseClock } from '../db/clock'
import { checkSessions } from '../db/sessions'
import { warm } from '../db/warm'
import { type AllowedMethods, openAllowedMethods } from '../http/allowed-methods'
import type { KeyedRoute } from '../http/keyed'
import { RUN_ACCEPTED } from '../jobs/enqueue'
import { runAcceptedJob } from '../jobs/run-accepted'
import { migrateJobs, startWorker } from '../jobs/worker'
import { log } from '../log'
import { startSchedule } from '../maintenance/schedule'
import { startRollUps } from '../metrics/roll-up'
import { startSandboxWebhooks } from '../payments/sandbox-webhooks'
import { startRestore } from '../reconciliation/restore'
import { bootstrap, type FirstSecrets } from './bootstrap'
import { type Services, services } from './services'
import { welcome } from './welcome'

/** How the process that serves finds its node, across Next's bundles. */
const NODE = Symbol.for('onceover.node')

export interface RunningNode {
  /** What a person should read after a start. */
  welcome(url: string): string
  services: Services
  /** The keyed ones, by endpoint: `POST /api/things/{id}`. */
  routes: Record<string, KeyedRoute>
  /** Of the API's addresses. */
  allowedMethods: AllowedMethods
  stop(): Promise<void>
}

/** What a start leaves for the process that serves: the node, or why there is none. */
export interface LeftNode {
  node?: RunningNode
  failure?: unknown
}

export async function startNode(routes: Record<string, KeyedRoute>): Promise<void> {
  const holder = globalThis as unknown as Record<symbol, LeftNode | undefined>
  if (holder[NODE]?.node) return
  try {
    holder[NODE] = { node: await start(routes) }
  } catch (failure) {
    holder[NODE] = { failure }
    throw failure
  }
}

async function start(routes: Record<string, KeyedRoute>): Promise<RunningNode> {
  const node = services()
  const jobsUrl = node.config.directDatabaseUrl!
  await checkSessions(node.store, node.config)
  await migrateJobs(jobsUrl)
  const secrets: FirstSecrets = await bootstrap(node.store, node.config)
  const worker = node.config.worker
    ? await startWorker(jobsUrl, {
        [RUN_ACCEPTED]: (payload) =>
          runAcceptedJob(node.boundary, node.operations, (payload as { recordId: string }).recordId),
      })
    : null
  await readDatabaseClock(node.store)
  await Promise.all([warm(node.store.pool), warm(node.sandboxPool)])
  const webhooks = await startWebhooks(node)
  const schedule = node.config.worker ? startSchedule(node.store, node.boundary.nodeId, node.daemons) : null
  if (node.config.worker) node.runner.resume()
  const restore =
    node.fence &&
    startRestore({
      store: node.store,
      gateway: node.gateway,
      nodeId: node.boundary.nodeId,
      settledAfterMs: node.config.leaseMs + node.config.settleMs,
      fence: node.fence,
    })
  const rollUps = node.config.worker ? startRollUps(node.store) : null
  log().info({ nodeId: node.boundary.nodeId, worker: node.config.worker }, 'node started')
  return {
    services: node,
    routes,
    allowedMethods: openAllowedMethods(),
    welcome: (url) => welcome(url, secrets, node.config),
    async stop() {
      await webhooks?.stop()
      await Promise.all([schedule?.stop(), node.runner.stop(), restore?.stop()])
      await rollUps?.stop()
      await worker?.stop()
      await node.close()
    },
  }
}

/** The sandbox reports to whichever node took the report in hand: to itself, over HTTP like any provider. */
async function startWebhooks({ config, gateway, sandboxPool, sandboxWebhookSecret: secret }: Services) {
  if (gateway.name !== 'sandbox') return null
  // Made now where there is none, so that a test or a demo can sign its own from the first start on.
  await secret()
  const { sandboxWebhookDelayMs: delayMs } = config
  if (delayMs === null || !config.worker) return null
  const url = () => `http://127.0.0.1:${servedPort()}/api/webhooks/sandbox`
  return startSandboxWebhooks({ pool: sandboxPool, delayMs, secret, url })
}
