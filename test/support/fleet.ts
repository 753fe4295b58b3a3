// Several nodes on one database of their own, each behind lines that can fail, each of which may die and come back:
// what every scenario about faults is played on.
import type { Step } from '../../lib/idempotency/boundary'
import { type Client, createClient, SECRETS } from './client'
import { type Line, openLine } from './line'
import { HOLDABLE, startNode, type TestNode } from './node'
import { startMigratedPostgres } from './postgres'

export interface FleetOptions {
  nodes: number
  env?: Record<string, string>
  /** Of the server, where what it keeps has to outlive more than its own end. */
  postgres?: Record<string, string | number>
}

export interface Member {
  /** Where it listens stays the same over its lives. */
  client: Client
  /** Between it and the database. */
  line: Line
  isAlive(): boolean
  /** As a power cut would. */
  kill(): Promise<void>
  start(): Promise<void>
  hold(step: Step): Promise<void>
  held(count?: number): Promise<void>
  release(): Promise<void>
  /** Of its present life. */
  pid(): number
}

export interface Fleet {
  members: Member[]
  /** Past the lines. */
  databaseUrl: string
  /** Every connection breaks, what was not committed is gone, and it comes back. */
  restartDatabase(): Promise<void>
  stopDatabase(): Promise<void>
  startDatabase(): Promise<void>
  close(): Promise<void>
}

export async function openFleet({ nodes, env = {}, postgres: settings }: FleetOptions): Promise<Fleet> {
  const [postgres, databaseUrl] = await startMigratedPostgres(settings)
  const opened: (Member & { close(): Promise<void> })[] = []
  const close = async () => {
    await Promise.all(opened.map((member) => member.close()))
    await postgres.remove()
  }
  try {
    for (let i = 0; i < nodes; i++) opened.push(await openMember(databaseUrl, { ...SECRETS, ...HOLDABLE, ...env }))
  } catch (error) {
    await close()
    throw error
  }
  const stopDatabase = () => postgres.stop({ mode: 'immediate' })
  const startDatabase = () => postgres.start()
  return {
    members: opened,
    databaseUrl,
    async restartDatabase() {
      await stopDatabase()
      await startDatabase()
    },
    stopDatabase,
    startDatabase,
    close,
  }
}

async function openMember(databaseUrl: string, env: Record<string, string>) {
  const line = await openLine(databaseUrl)
  const run = (port?: number) => startNode({ databaseUrl: line.url, env, port })
  let node: TestNode
  try {
    node = await run()
  } catch (error) {
    await line.close()
    throw error
  }
  let isAlive = true
  const { url } = node
  return {
    client: createClient(url),
    line,
    isAlive: () => isAlive,
    async kill() {
      isAlive = false
      await node.kill()
    },
    async start() {
      node = await run(Number(new URL(url).port))
      if (node.url !== url) throw new Error(`${url} is taken: the node came back as ${node.url}`)
      isAlive = true
    },
    hold: (step: Step) => node.hold(step),
    held: (count?: number) => node.held(count),
    release: () => node.release(),
    pid: () => node.pid,
    async close() {
      if (isAlive) await node.kill()
      await line.close()
    },
  } satisfies Member & { close(): Promise<void> }
}
