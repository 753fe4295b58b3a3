// The database that all nodes of this checkout share while DATABASE_URL is unset. It runs from the first node's start
// until the last one leaves: every node holds one idle connection for its life, so PostgreSQL itself knows who is
// left, also after a SIGKILL. Joining and leaving happen one at a time.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { takeLock } from './lock.mjs'
import { newClient, withClient } from './postgres-client'
import { type Cluster, openCluster } from './postgres-cluster'

const NODE = 'onceover-node'
const RECONNECT_MS = 500
// Two nodes with pools of their own, the job engine, a test and a person with psql fit at the same time.
const CONNECTIONS = 200

export interface EmbeddedDatabase {
  readonly url: string
  /** Leaves the database, and stops it when nobody else is there. */
  release(): Promise<void>
}

export async function joinEmbedded(
  folder: string,
  { signal }: { signal?: AbortSignal } = {},
): Promise<EmbeddedDatabase> {
  // Not the start lock, which a first build keeps for a minute: Ctrl-C of another node must not wait for that.
  const alone = async <T>(action: () => Promise<T>, waiting?: AbortSignal): Promise<T> => {
    const lock = await takeLock(path.join(folder, 'postgres.lock'), { signal: waiting })
    try {
      return await action()
    } finally {
      await lock.release()
    }
  }

  return alone(async () => {
    const cluster = await openCluster(folder, { max_connections: CONNECTIONS })
    const presence = await holdPresence(cluster.url)
    return { url: cluster.url, release: () => alone(() => leave(cluster, presence)) }
  }, signal)
}

async function leave(cluster: Cluster, presence: Presence): Promise<void> {
  const others = await presence.countOthers()
  await presence.end()
  if (others === 0) await cluster.stop({ mode: 'fast' })
}

async function countFrom(client: pg.Client): Promise<number> {
  const others = 'SELECT FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()'
  return (await client.query(others, [NODE])).rowCount ?? 0
}

interface Presence {
  countOthers(): Promise<number>
  end(): Promise<void>
}

// The server may be restarted under us; a node that did not come back would be overlooked by the last one to leave.
async function holdPresence(url: string): Promise<Presence> {
  const ended = new AbortController()
  let client = await connect()

  async function connect(): Promise<pg.Client> {
    const fresh = newClient(url, NODE)
    await fresh.connect()
    fresh.once('end', () => void reconnect())
    return fresh
  }

  async function reconnect(): Promise<void> {
    while (!ended.signal.aborted) {
      try {
        client = await connect()
        return
      } catch {
        await sleep(RECONNECT_MS, undefined, { signal: ended.signal }).catch(() => {})
      }
    }
  }

  return {
    async countOthers() {
      // Asked on our own connection, which is the one not to count. Where that was just lost, another one may do; a
      // server that can't be asked at all serves nobody.
      return countFrom(client)
        .catch(() => withClient(url, countFrom))
        .catch(() => 0)
    },
    async end() {
      ended.abort()
      await client.end().catch(() => {})
    },
  }
}
