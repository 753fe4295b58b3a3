// One throw-away PostgreSQL for a whole run of the tests, with a migrated template database in it. It never outlives
// the run, however that ends. It is the embedded one, or with TEST_POSTGRES that of an installed package.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { applyMigrations } from '../../scripts/migrations'
import type { Binaries } from '../../scripts/postgres-binaries'
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

/**
 * The programs of a package in this folder, such as /usr/lib/postgresql/15/bin; the embedded ones without a folder. The
 * locale is unlike the embedded server's: nothing may depend on how text is sorted.
 */
export const installed = (folder: string | undefined): Binaries | undefined =>
  folder
    ? {
        pg_ctl: path.join(folder, 'pg_ctl'),
        initdb: path.join(folder, 'initdb'),
        locale: ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'],
      }
    : undefined

/** Whoever stops and starts a database under traffic takes a server of its own. */
export interface ThrowawayPostgres extends Pick<Cluster, 'start' | 'stop' | 'urlOf'> {
  remove(): Promise<void>
}

export async function startThrowawayPostgres(
  settings: Settings = SETTINGS,
  programs = installed(process.env.TEST_POSTGRES),
): Promise<ThrowawayPostgres> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-test-'))
  const clearAway = guard(folder)
  try {
    const { start, stop, urlOf } = await openCluster(folder, settings, programs)
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
export async function startMigratedPostgres(
  settings?: Settings,
  programs?: Binaries,
): Promise<[ThrowawayPostgres, string]> {
  const server = await startThrowawayPostgres(settings, programs)
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
  return provide(project)
}

/** @param programs the embedded ones, unless said */
export async function provide(project: TestProject, programs?: Binaries): Promise<() => Promise<void>> {
  const [server] = await startMigratedPostgres(undefined, programs)
  project.provide('postgresUrl', server.urlOf('postgres'))
  return server.remove
}
