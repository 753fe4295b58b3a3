// Where a run takes place: one PostgreSQL server, one Redis where there is one, and the contenders that are asked for.
// Whatever was started here is stopped here, in reverse order, however the run ends.
import { withClient } from '../../scripts/postgres-client'
import { startMigratedPostgres, TEMPLATE } from '../support/postgres'
import { type Contender, contender } from './contenders'
import type { Program } from './program'
import { startRedis } from './redis'
import { LEAN_TABLES } from './unguarded-order'

/** PostgreSQL as it comes, its durability included; only that many contenders need many connections. */
const SETTINGS = { max_connections: 400 }

/** Durability is not for sale: a run without it would not be about this. */
const DURABLE = ['fsync', 'synchronous_commit', 'full_page_writes']

export interface Stand {
  readonly hasRedis: boolean
  /** Starts the contender when it is first asked for. */
  program(name: Contender): Promise<Program>
  stop(name: Contender): Promise<void>
  close(): Promise<void>
}

export async function openStand(): Promise<Stand> {
  const [server] = await startMigratedPostgres(SETTINGS)
  await withClient(server.urlOf('postgres'), async (client) => {
    for (const setting of DURABLE) {
      const { rows } = await client.query(`SHOW ${setting}`)
      if (rows[0][setting] !== 'on') throw new Error(`${setting} is ${rows[0][setting]}`)
    }
  })
  const redis = await startRedis()
  const programs = new Map<Contender, Promise<Program>>()

  async function start(name: Contender): Promise<Program> {
    const { unguarded, start } = contender(name)
    const database = `bench_${name.toLowerCase()}`
    await withClient(server.urlOf('postgres'), (client) =>
      client.query(`CREATE DATABASE ${database} TEMPLATE ${TEMPLATE}`),
    )
    const databaseUrl = server.urlOf(database)
    await withClient(databaseUrl, async (client) => {
      if (unguarded) await client.query(LEAN_TABLES)
    })
    return start({ databaseUrl, redisUrl: redis?.url ?? null })
  }

  const stop = async (name: Contender) => {
    const started = programs.get(name)
    programs.delete(name)
    await started?.then((program) => program.stop()).catch(() => {})
  }
  return {
    hasRedis: redis !== null,
    program(name) {
      const started = programs.get(name) ?? start(name)
      programs.set(name, started)
      return started
    },
    stop,
    async close() {
      for (const name of [...programs.keys()].reverse()) await stop(name)
      await redis?.stop()
      await server.remove()
    },
  }
}
