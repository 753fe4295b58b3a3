// One node, from configuration to the last answer. Whatever was started here is stopped here, in reverse order, however
// the node ends; nothing is started before the configuration is known to be good.
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import nextEnv from '@next/env'
import { parseConfig } from '../lib/config'
import { aborted } from './aborted'
import { ensureBuild, ensureClient, type Task } from './build'
import { decodable } from './decodable'
import { joinEmbedded } from './embedded-postgres'
import { listen, type NodeServer } from './http-server'
import type { Lock } from './lock.mjs'
import { applyMigrations } from './migrations'

export interface ServeContext {
  root: string
  dev: boolean
  say: (line: string) => void
  startLock: Lock
  stopping: AbortSignal
  hurrying: AbortSignal
}

/** What instrumentation.ts, which Next bundles apart from us, leaves for this process. */
interface NodeHooks {
  announce?(url: string): void | Promise<void>
  direct?(request: IncomingMessage, response: ServerResponse): boolean
  stop?(): Promise<void>
}

// Stopping the workers is bounded by their own jobs; this bounds it for somebody who pressed Ctrl-C twice.
const HURRIED_STOP_MS = 1_000

export async function serve(context: ServeContext): Promise<number> {
  const { root, dev, say, stopping } = context
  Object.assign(process.env, { NODE_ENV: dev ? 'development' : 'production' })
  // Next would read .env files too, but only after the configuration was checked.
  nextEnv.loadEnvConfig(root, dev, { info: () => {}, error: console.error })
  const config = parseConfig(process.env)

  const embedded = config.databaseUrl ? undefined : await joinEmbedded(path.join(root, '.data'), stopping)
  try {
    if (embedded) Object.assign(process.env, { DATABASE_URL: embedded.url, DIRECT_DATABASE_URL: embedded.url })
    await applyMigrations(root, embedded?.url ?? (config.directDatabaseUrl as string), stopping)
    const task: Task = { root, say, signal: stopping }
    await (dev ? ensureClient(task) : ensureBuild(task))
    await context.startLock.release()

    const server = await listen(config.port)
    if (config.port !== 0 && server.port !== config.port) say(`Port ${config.port} is taken; using ${server.port}.`)
    process.env.PORT = String(server.port)
    await answerUntilStopped(server, context, config.leaseMs)
    return context.hurrying.aborted ? context.hurrying.reason.exitCode : 0
  } finally {
    await embedded?.release()
  }
}

async function answerUntilStopped(server: NodeServer, context: ServeContext, drainMs: number): Promise<void> {
  const { root, dev, say, stopping, hurrying } = context
  const { default: next } = await import('next')
  const app = next({ dev, dir: root, hostname: 'localhost', port: server.port })
  // Before it is open there is nobody to wait for: a start that fails ends at once.
  let limitMs = 0
  try {
    await app.prepare()
    const handle = app.getRequestHandler()
    let direct: NodeHooks['direct']
    server.open(
      (request, response) => {
        if (direct?.(request, response)) return
        // Next can't make a Request of either, and would answer 500.
        if (request.method === 'TRACE') return response.writeHead(405).end()
        if (request.url === '*') return response.writeHead(400).end()
        request.url = decodable(request.url ?? '/')
        return handle(request, response)
      },
      dev ? app.getUpgradeHandler() : refuseUpgrade,
    )
    const url = `http://localhost:${server.port}`
    await untilRegistered(url, stopping)
    // Under development the routes change while they are served, and only Next knows.
    if (!dev) direct = hooks()?.direct
    limitMs = drainMs
    if (!stopping.aborted) await announce(url, say)
    await aborted(stopping)
  } finally {
    await server.drain(limitMs, hurrying)
    const stopped = Promise.allSettled([hooks()?.stop?.(), app.close()])
    const hurried = aborted(hurrying).then(() => delay(HURRIED_STOP_MS))
    // A worker that can't reach its database any more must not keep the process: past a lease it owns nothing.
    await Promise.race([stopped, hurried, delay(drainMs)])
  }
}

// Only a page under development has a use for one, and Next would leave the connection open without a word.
function refuseUpgrade(_: IncomingMessage, socket: Duplex): void {
  socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
}

// Next does not wait for instrumentation.ts (first tenant, admin, job worker) before it is prepared, nor does it report
// that this failed. But its first answer waits, and tells. Being asked to stop ends that wait: it may be one for a
// database that is gone.
async function untilRegistered(url: string, stopping: AbortSignal): Promise<void> {
  const { status } = await fetch(`${url}/api/health`, { signal: stopping })
  if (status !== 200) throw new Error(`the node answers its own health check with ${status}; the reason is above.`)
}

async function announce(url: string, say: (line: string) => void): Promise<void> {
  const own = hooks()?.announce
  if (own) await own(url)
  else say(`Onceover listens on ${url}`)
}

function hooks(): NodeHooks | undefined {
  return (globalThis as { [key: symbol]: NodeHooks | undefined })[Symbol.for('onceover.node')]
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
