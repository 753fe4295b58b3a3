// Every migration is a place to stop at: after each one, nodes of the first release go on as if nothing had happened. And
// two deploys at once, as two hosts that start together make them, don't end each other.
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXPECTED_MIGRATIONS } from '../../lib/db/expected-migrations'
import { migrateJobs } from '../../lib/jobs/worker'
import { freshKey, orderBody, until } from '../support/client'
import type { TestDatabase } from '../support/database'
import { deploy, deployFirstRelease, migrationFile } from './upgrade/deploy'
import { fillEveryState } from './upgrade/every-state'
import { type FirstReleaseNode, openFirstReleaseNode } from './upgrade/first-release-node'
import { emptyDatabase, expectSound } from './upgrade/upgraded-database'

const TIMES = { leaseMs: 3000, settleMs: 1000 }
/** `prisma migrate` takes it for a deploy. */
const MIGRATE_LOCK = 72707369

describe('an upgrade may stop after every migration', () => {
  let database: TestDatabase
  let db: pg.Client
  let old: FirstReleaseNode
  beforeAll(async () => {
    database = await emptyDatabase()
    const { url } = database
    db = new pg.Client(url)
    await db.connect()
    await migrateJobs(url)
    old = openFirstReleaseNode(url, 'ten_stops', TIMES)
  })
  afterAll(async () => {
    await old?.close()
    await db?.end()
    await database?.drop()
  })

  it.each([...EXPECTED_MIGRATIONS])('the first release goes on working after %s', async (name) => {
    await db.query(await readFile(migrationFile(name), 'utf8'))
    // as after a start: SET of a migration lives as long as its connection
    await db.query('RESET ALL')
    await fillEveryState(old, db)
    const [key, order] = [freshKey(), orderBody()]
    const told = await Promise.all(Array.from({ length: 6 }, () => old.order(key, order)))
    expect(told.filter(({ status, replayed }) => status === 201 && !replayed)).toHaveLength(1)
    for (const { status } of told) expect([201, 409]).toContain(status)
    await expectSound(db)
  })
})

it('a deploy that waits for another one does not block it', async () => {
  const { url, drop } = await emptyDatabase()
  await deployFirstRelease(url)
  const other = new pg.Client(url)
  await other.connect()
  try {
    await other.query(`SELECT pg_advisory_lock(${MIGRATE_LOCK})`)
    const waiting = deploy(url)
    await until(
      () =>
        other.query(`SELECT FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'prisma-schema-engine' AND query ~ 'pg_(try_)?advisory_lock'`),
      ({ rowCount }) => rowCount === 1,
      30_000,
    )
    await other.query('CREATE INDEX CONCURRENTLY beside_the_other ON orders (customer_id)')
    await other.query(`SELECT pg_advisory_unlock(${MIGRATE_LOCK})`)
    expect(await waiting).toContain('All migrations have been successfully applied')
  } finally {
    await other.end()
    await drop()
  }
})
