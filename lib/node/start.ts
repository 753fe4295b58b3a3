// A node's life: what has to be there before the first request, and what has to end before the process may.

import { RUN_ACCEPTED } from '../jobs/enqueue'
import { runAcceptedJob } from '../jobs/run-accepted'
import { migrateJobs, startWorker } from '../jobs/worker'
import { log } from '../log'
import { bootstrap, type FirstSecrets } from './bootstrap'
import { services } from './services'
import { welcome } from './welcome'

/** How the process that serves finds its node, across Next's bundles. */
const NODE = Symbol.for('onceover.node')

export interface RunningNode {
  /** Tells a person where it is and how to try it. */
  announce(url: string): void
  stop(): Promise<void>
}

export async function startNode(): Promise<void> {
  const holder = globalThis as unknown as Record<symbol, RunningNode | undefined>
  if (holder[NODE]) return
  const node = services()
  const jobsUrl = node.config.directDatabaseUrl!
  await migrateJobs(jobsUrl)
  const secrets: FirstSecrets = await bootstrap(node.store, node.config)
  const worker = node.config.worker
    ? await startWorker(jobsUrl, {
        [RUN_ACCEPTED]: (payload) =>
          runAcceptedJob(node.boundary, node.operations, (payload as { recordId: string }).recordId),
      })
    : null
  log().info({ nodeId: node.boundary.nodeId, worker: node.config.worker }, 'node started')
  holder[NODE] = {
    announce: (url) => process.stdout.write(welcome(url, secrets, node.config)),
    async stop() {
      await worker?.stop()
      await node.close()
    },
  }
}
