// A database for each test file, cloned from the migrated template: tests share a server and nothing else.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import { withClient } from '../../scripts/postgres-client'
import { TEMPLATE } from './postgres'

const OBJECT_IN_USE = '55006'
const RETRY_MS = 50
const RETRY_LIMIT_MS = 30_000
const CLOSING_LIMIT_MS = 30_000

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

export async function cloneDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await clone(serverUrl, name)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () => drop(serverUrl, name),
  }
}

// A connection that is just being closed is waited for: cut off instead, it would complain in a test that is over.
async function drop(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    for (const deadline = Date.now() + CLOSING_LIMIT_MS; Date.now() < deadline; await sleep(RETRY_MS)) {
      const dropped = await client.query(`DROP DATABASE ${name}`).catch((error) => {
        if (error.code !== OBJECT_IN_USE) throw error
      })
      if (dropped) return
    }
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
  })
}

// PostgreSQL refuses to copy a database while anybody is connected to it, be it only another copy's first moment.
async function clone(serverUrl: string, name: string): Promise<void> {
  const create = `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`
  for (const deadline = Date.now() + RETRY_LIMIT_MS; ; await sleep(RETRY_MS)) {
    try {
      await withClient(serverUrl, (client) => client.query(create))
      return
    } catch (error) {
      if ((error as { code?: string }).code !== OBJECT_IN_USE || Date.now() > deadline) throw error
    }
  }
}
