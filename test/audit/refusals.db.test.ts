// Refusals in the audit log: one entry for each actor, action and minute, and how often it happened.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { appendRefusal } from '../../lib/audit/append'
import { listAudit } from '../../lib/audit/read'
import { verifyAudit } from '../../lib/audit/verify'
import { openStore, type Store } from '../../lib/db/store'
import { type Log, openLog } from './log'

let log: Log
let other: Store
beforeAll(async () => {
  log = await openLog()
  other = openStore(log.url, { max: 8, applicationName: 'audit-test-other' })
})
afterAll(async () => {
  await other?.close()
  await log?.close()
})

const refuse = (actorId: string, action = 'key.expire', store: Store = log.store) =>
  appendRefusal(store, { actor: { id: actorId, name: 'Eve' }, requestId: randomUUID(), action, target: randomUUID() })

/** Those of one actor, oldest first. */
const refusals = async (actor: string) =>
  (await listAudit(log.store, { actor, limit: 100, after: null })).items.reverse()

/** Far enough from the end of a minute of the database's clock for what a test does in one. */
async function withinOneMinute(): Promise<void> {
  const { rows } = await log.db.query('SELECT extract(second FROM clock_timestamp())::float8 AS second')
  if (rows[0].second > 57) await log.db.query('SELECT pg_sleep(60.1 - extract(second FROM clock_timestamp()))')
}

it('200 refusals at the same moment on two nodes are one entry with the count 200', { timeout: 90_000 }, async () => {
  await withinOneMinute()
  await Promise.all(Array.from({ length: 200 }, (_, i) => refuse('opr_eve', 'key.expire', i % 2 ? other : log.store)))
  expect(await refusals('opr_eve')).toMatchObject([{ action: 'key.expire', outcome: 'forbidden', count: 200 }])
  expect(await verifyAudit(log.store)).toMatchObject({ holds: true })
})

it('another action, another actor and another minute have entries of their own', { timeout: 90_000 }, async () => {
  await withinOneMinute()
  // What was refused in an earlier minute, as that minute left it.
  await log.db.query(`INSERT INTO audit_refusals VALUES ('opr_1', 'key.expire', '2026-01-01T00:00Z', 7)`)
  await log.append({ action: 'key.expire', outcome: 'forbidden', before: null, after: { minute: '2026-01-01T00:00Z' } })
  for (const action of ['key.expire', 'key.resolve', 'key.expire']) await refuse('opr_1', action)
  await refuse('opr_2')
  expect(await refusals('opr_1')).toMatchObject([
    { action: 'key.expire', count: 7, after: { minute: '2026-01-01T00:00Z' } },
    { action: 'key.expire', count: 2 },
    { action: 'key.resolve', count: 1 },
  ])
  expect(await refusals('opr_2')).toMatchObject([{ action: 'key.expire', count: 1 }])
})

it('a refusal whose statement is rolled back leaves the entry to the next one', { timeout: 90_000 }, async () => {
  await withinOneMinute()
  const client = await log.db.connect()
  await client.query('BEGIN')
  await appendRefusal(
    { query: async ({ text, values }) => (await client.query(text, [...values])).rows },
    { actor: { id: 'opr_3', name: 'Eve' }, requestId: 'req_1', action: 'key.expire', target: null },
  )
  const next = refuse('opr_3')
  await client.query('ROLLBACK')
  client.release()
  await next
  expect(await refusals('opr_3')).toMatchObject([{ count: 1 }])
})

it.each([
  'UPDATE audit_refusals SET count = count',
  'UPDATE audit_refusals SET count = count - 1',
  `UPDATE audit_refusals SET minute = minute || 'x', count = count + 1`,
  'DELETE FROM audit_refusals',
  'TRUNCATE audit_refusals',
])('%s is refused, also for a session that calls itself a replica', async (statement) => {
  await refuse('opr_4')
  for (const role of ['origin', 'replica']) {
    const client = await log.db.connect()
    await client.query(`SET session_replication_role = ${role}`)
    await expect(client.query(statement)).rejects.toMatchObject({ code: '23514' })
    client.release(true)
  }
})
