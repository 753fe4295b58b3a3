// Whoever takes the guards away and writes over the log is found out: where it first breaks, and how.
import { createHash } from 'node:crypto'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { appendAudit } from '../../lib/audit/append'
import { verifyAudit } from '../../lib/audit/verify'
import type { Store } from '../../lib/db/store'
import { storeOn } from '../support/boundary'
import { entryOf, type Log, openLog, tamper, write } from './log'

let log: Log
beforeAll(async () => {
  log = await openLog()
})
afterAll(() => log?.close())

// Five entries in a transaction that never commits: each test finds the log as if nobody had touched it before.
let db: pg.PoolClient
let store: Pick<Store, 'query'>
beforeEach(async () => {
  db = await log.db.connect()
  await db.query('BEGIN')
  store = storeOn(db)
  await write(store, 5)
})
afterEach(async () => {
  await db.query('ROLLBACK')
  db.release()
})

const broken = (what: string, brokenAt: number, entries = brokenAt - 1) => ({ holds: false, what, brokenAt, entries })

it('audit verification accepts an untouched or empty log and returns the hash of its head', async () => {
  const { rows } = await db.query(`SELECT encode(hash, 'hex') AS hash FROM audit_head`)
  expect(await verifyAudit(store)).toEqual({
    holds: true,
    entries: 5,
    brokenAt: null,
    what: null,
    lastHash: rows[0].hash,
  })
  expect(await verifyAudit(log.store)).toMatchObject({ holds: true, entries: 0 })
})

it.each([1, 2, 5, 6])('audit verification in batches of %i gives the same result', async (batch) => {
  expect(await verifyAudit(store, batch)).toMatchObject({ holds: true, entries: 5 })
  await tamper(db, 'DELETE FROM audit_entries WHERE seq = 3')
  expect(await verifyAudit(store, batch)).toMatchObject(broken('missing', 3))
})

describe('a changed audit entry', () => {
  const COLUMNS: Record<string, string> = {
    at: `at + interval '1 ms'`,
    actor_id: `'opr_2'`,
    actor_name: `'Eve'`,
    action: `'key.expire'`,
    target: `NULL`,
    outcome: `'forbidden'`,
    reason: `reason || ' '`,
    before: `before || '{"version": 2}'`,
    after: `NULL`,
    request_id: `'req_2'`,
    previous_hash: `sha256('x')`,
    hash: `sha256('x')`,
  }
  it.each(Object.entries(COLUMNS))('with another %s is detected', async (column, value) => {
    await tamper(db, `UPDATE audit_entries SET ${column} = ${value} WHERE seq = 3`)
    expect(await verifyAudit(store)).toMatchObject(broken('changed', 3))
  })

  it('is tested for every column except seq', async () => {
    const { rows } = await db.query<{ name: string }>(`
      SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'audit_entries'`)
    expect(rows.map(({ name }) => name).sort()).toEqual(['seq', ...Object.keys(COLUMNS)].sort())
  })

  it('at the end of the log is detected even with a matching hash', async () => {
    await tamper(
      db,
      `UPDATE audit_entries SET reason = 'none'  WHERE seq = 5`,
      `UPDATE audit_entries e SET hash = sha256(e.previous_hash || convert_to(audit_content(e), 'UTF8')) WHERE seq = 5`,
    )
    expect(await verifyAudit(store)).toMatchObject({ ...broken('changed', 5), entries: 5 })
  })

  it('with a matching hash is detected by the next entry', async () => {
    await tamper(
      db,
      `UPDATE audit_entries SET reason = 'none' WHERE seq = 3`,
      `UPDATE audit_entries e SET hash = sha256(e.previous_hash || convert_to(audit_content(e), 'UTF8')) WHERE seq = 3`,
    )
    expect(await verifyAudit(store)).toMatchObject(broken('not_chained', 4))
  })

  it('is detected even if the database’s own audit_content function is replaced', async () => {
    const { rows } = await db.query('SELECT audit_content(e) AS content FROM audit_entries e WHERE seq = 3')
    await tamper(db, `UPDATE audit_entries SET reason = 'none' WHERE seq = 3`)
    await db.query(`
      CREATE OR REPLACE FUNCTION audit_content(e audit_entries) RETURNS text LANGUAGE sql STABLE AS
      $$ SELECT $content$${rows[0].content}$content$ $$`)
    expect(await verifyAudit(store)).toMatchObject(broken('changed', 3))
  })
})

describe('a deletion from the audit log', () => {
  it.each([1, 2, 4])('of entry %i is detected', async (seq) => {
    await tamper(db, `DELETE FROM audit_entries WHERE seq = ${seq}`)
    expect(await verifyAudit(store)).toMatchObject(broken('missing', seq))
  })

  it('at the end is detected by the head', async () => {
    await tamper(db, 'DELETE FROM audit_entries WHERE seq >= 4')
    expect(await verifyAudit(store)).toMatchObject(broken('cut_off', 4))
  })

  it('of all entries is detected by the head', async () => {
    await tamper(db, 'TRUNCATE audit_entries')
    expect(await verifyAudit(store)).toMatchObject(broken('cut_off', 1))
  })

  it('of the head itself is detected', async () => {
    await tamper(db, 'DELETE FROM audit_head')
    expect(await verifyAudit(store)).toMatchObject(broken('head_missing', 6))
  })

  it('at the end is detected even after another entry is appended', async () => {
    await tamper(db, 'DELETE FROM audit_entries WHERE seq = 5')
    await appendAudit(store, entryOf())
    expect(await verifyAudit(store)).toMatchObject(broken('missing', 5))
  })

  it('of an entry is detected even when the following ones are renumbered', async () => {
    await tamper(
      db,
      'DELETE FROM audit_entries WHERE seq = 2',
      'UPDATE audit_entries SET seq = seq - 1 WHERE seq = 3',
      'UPDATE audit_entries SET seq = seq - 1 WHERE seq = 4',
      'UPDATE audit_entries SET seq = seq - 1 WHERE seq = 5',
    )
    expect(await verifyAudit(store)).toMatchObject(broken('changed', 2))
  })
})

describe('an insertion into the audit log', () => {
  const insert = (seq: string, previous: string) => `
    WITH made AS (SELECT ${seq}::bigint AS seq, date_trunc('milliseconds', now()) AS at, 'opr_2', 'Eve', 'key.resolve',
      'idem_9', 'done', NULL, NULL::jsonb, NULL::jsonb, 'req_9', ${previous} AS previous_hash, ''::bytea)
    INSERT INTO audit_entries SELECT * FROM made`
  const rehash = (seq: number) => `
    UPDATE audit_entries e SET hash = sha256(e.previous_hash || convert_to(audit_content(e), 'UTF8')) WHERE seq = ${seq}`
  const hashOfEntry = (seq: number) => `(SELECT hash FROM audit_entries WHERE seq = ${seq})`

  it('at the end is detected even with matching hashes', async () => {
    await tamper(db, insert('6', hashOfEntry(5)), rehash(6))
    expect(await verifyAudit(store)).toMatchObject(broken('inserted', 6))
  })

  it.each([0, -7])('as number %i is detected', async (seq) => {
    await tamper(db, insert(String(seq), hashOfEntry(5)), rehash(seq))
    expect(await verifyAudit(store)).toMatchObject({ ...broken('inserted', seq), entries: 0 })
  })

  it('in the middle is detected even with matching hashes', async () => {
    await tamper(
      db,
      'UPDATE audit_entries SET seq = seq + 1 WHERE seq = 5',
      'UPDATE audit_entries SET seq = seq + 1 WHERE seq = 4',
      insert('4', hashOfEntry(3)),
      rehash(4),
      rehash(5),
      rehash(6),
      'UPDATE audit_head SET seq = 6',
    )
    expect(await verifyAudit(store)).toMatchObject(broken('not_chained', 5))
  })

  it('far ahead is detected as a gap', async () => {
    await tamper(db, insert('12', hashOfEntry(5)), rehash(12))
    expect(await verifyAudit(store)).toMatchObject(broken('missing', 6))
  })
})

describe('swapping audit entries', () => {
  it('is detected', async () => {
    await tamper(
      db,
      'UPDATE audit_entries SET seq = 99 WHERE seq = 2',
      'UPDATE audit_entries SET seq = 2 WHERE seq = 3',
      'UPDATE audit_entries SET seq = 3 WHERE seq = 99',
    )
    expect(await verifyAudit(store)).toMatchObject(broken('changed', 2))
  })

  it('is detected even with matching hashes', async () => {
    await tamper(
      db,
      'UPDATE audit_entries SET seq = 99 WHERE seq = 2',
      'UPDATE audit_entries SET seq = 2 WHERE seq = 3',
      'UPDATE audit_entries SET seq = 3 WHERE seq = 99',
      `UPDATE audit_entries e SET hash = sha256(e.previous_hash || convert_to(audit_content(e), 'UTF8')) WHERE seq IN (2, 3)`,
    )
    expect(await verifyAudit(store)).toMatchObject(broken('not_chained', 2))
  })
})

it('a manually changed audit head is detected', async () => {
  await tamper(db, `UPDATE audit_head SET seq = 4`)
  expect(await verifyAudit(store)).toMatchObject(broken('inserted', 5))
  await tamper(db, `UPDATE audit_head SET seq = 9`)
  expect(await verifyAudit(store)).toMatchObject(broken('cut_off', 6))
  await tamper(db, `UPDATE audit_head SET seq = 5, hash = sha256('x')`)
  expect(await verifyAudit(store)).toMatchObject({ ...broken('changed', 5), entries: 5 })
})

it('an audit entry’s hash is SHA-256 over the previous hash and the entry as a JSON array', async () => {
  const { rows } = await db.query(`
    SELECT seq, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, previous_hash, hash
    FROM audit_entries WHERE seq = 1`)
  const { seq, at, previous_hash, hash } = rows[0]
  const content =
    `[${seq}, "${at}", "opr_1", "Ada", "key.resolve", "idem_1", "done", ` +
    `"The provider’s support found the charge: \\"ch_1\\".", {"state": "unknown", "version": 3}, ` +
    `{"state": "completed", "version": 4}, "req_1"]`
  expect(createHash('sha256').update(previous_hash).update(content).digest()).toEqual(hash)
})

it('audit entries appended during verification are not reported as a break', async () => {
  await db.query('COMMIT')
  await db.query('BEGIN')
  const verifying = Array.from({ length: 5 }, () => verifyAudit(log.store, 2))
  const appending = Array.from({ length: 40 }, () => log.append())
  for (const verdict of await Promise.all(verifying)) expect(verdict.holds).toBe(true)
  await Promise.all(appending)
  expect(await verifyAudit(log.store)).toMatchObject({ holds: true, entries: 45 })
})
