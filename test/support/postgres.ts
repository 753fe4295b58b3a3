// One throw-away PostgreSQL for a whole run of the tests, with a migrated template database in it. It never outlives
// the run, however that ends.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { applyMigrations } from '../../scripts/migrations'
import { type Cluster, openCluster, type Settings } from '../../scripts/postgres-cluster'
import { partsOf } from '../parts'

const root = path.resolve(import.meta.dirname, '..', '..')
export const TEMPLATE = 'onceover_template'
// Nothing in it has to survive a crash of the machine, so nothing has to wait for the disk.
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: 300 }

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's server; its database is for administration only. */
    postgresUrl: string
  }
}

/** Whoever stops and starts a database under traffic takes a server of its own. */
export interface ThrowawayPostgres extends Pick<Cluster, 'start' | 'stop' | 'urlOf'> {
  remove(): Promise<void>
}

export async function startThrowawayPostgres(settings: Settings = SETTINGS): Promise<ThrowawayPostgres> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-test-'))
  const clearAway = guard(folder)
  try {
    const { start, stop, urlOf } = await openCluster(folder, settings)
    const remove = async () => {
      await stop({ mode: 'immediate' })
      await rm(folder, { recursive: true, force: true })
      clearAway()
    }
    return { start, stop, urlOf, remove }
  } catch (error) {
    clearAway()
    throw error
  }
}

/** The same with a migrated database in it, whose URL is the second part. */
export async function startMigratedPostgres(settings?: Settings): Promise<[ThrowawayPostgres, string]> {
  const server = await startThrowawayPostgres(settings)
  const url = server.urlOf(TEMPLATE)
  try {
    await applyMigrations(root, url)
    return [server, url]
  } catch (error) {
    await server.remove()
    throw error
  }
}

/** Clears a server's folder away when told to, or when this process is gone without having told. */
export function guard(folder: string): () => void {
  const program = path.join(root, 'scripts', 'stop-when-orphaned.mjs')
  const guardian = spawn(process.execPath, [program, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  guardian.unref()
  return () => guardian.stdin.end()
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const withoutDatabase = partsOf('check').map(({ name }) => name)
  if (project.vitest.projects.every(({ name }) => withoutDatabase.includes(name))) return
  const [server] = await startMigratedPostgres()
  project.provide('postgresUrl', server.urlOf('postgres'))
  return server.remove
}
