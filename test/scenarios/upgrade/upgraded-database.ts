// Databases for upgrades: empty ones, and what has to hold in one whoever wrote to it.
import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { expect, inject } from 'vitest'
import { createDatabase, withClient } from '../../../scripts/postgres-client'
import type { TestDatabase } from '../../support/database'

export async function emptyDatabase(): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await createDatabase(server, name)
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () => withClient(server, async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  }
}

/** Charged twice, answered without a ledger row, or with two: nothing of that may ever be found. */
export async function expectSound(db: Pick<pg.Pool, 'query'>): Promise<void> {
  const twice = await db.query(`SELECT provider_key FROM sandbox.charges WHERE status = 'succeeded'
    GROUP BY provider_key HAVING count(*) > 1`)
  expect(twice.rows).toEqual([])
  const unbooked =
    await db.query(`SELECT r.id FROM idempotency_records r LEFT JOIN ledger_entries l ON l.record_id = r.id
    WHERE r.state = 'completed' AND r.response_status IN (201, 402) GROUP BY r.id HAVING count(l.id) <> 1`)
  expect(unbooked.rows).toEqual([])
  const moved = await db.query(`SELECT c.ref FROM sandbox.charges c JOIN ledger_entries l ON l.provider_ref = c.ref
    WHERE (c.kind, c.amount_cents, c.order_id) IS DISTINCT FROM (l.kind::text, l.amount_cents, l.order_id)`)
  expect(moved.rows).toEqual([])
  expect((await db.query('SELECT kind, subject, detail FROM discrepancies')).rows).toEqual([])
}
