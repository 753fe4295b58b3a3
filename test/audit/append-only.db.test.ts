// The log grows and does nothing else, whoever asks: the tests run as superuser and owner of the tables.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { verifyAudit } from '../../lib/audit/verify'
import { entryOf, type Log, openLog, write } from './log'

let log: Log
beforeAll(async () => {
  log = await openLog()
  await write(log.store, 3)
})
afterAll(() => log?.close())

const REFUSED = { code: '23514', message: expect.stringContaining('append-only') }
const ATTEMPTS = [
  `UPDATE audit_entries SET reason = 'another one'`,
  `UPDATE audit_entries SET reason = reason WHERE seq = 2`,
  `DELETE FROM audit_entries WHERE seq = 3`,
  'TRUNCATE audit_entries',
  'TRUNCATE audit_entries CASCADE',
  `UPDATE audit_head SET seq = 1`,
  `UPDATE audit_head SET hash = hash`,
  'DELETE FROM audit_head',
  'TRUNCATE audit_head',
  `INSERT INTO audit_head (one, seq, hash) VALUES (false, 9, '')`,
]

/** What is replicated of the head is left out: on a replica it moves with the entries. */
const isLeftOut = (role: string, statement: string) =>
  role === 'replica' && /^(UPDATE|INSERT INTO) audit_head/.test(statement)

describe.each(['origin', 'replica', 'local'])('for a superuser whose session_replication_role is %s', (role) => {
  it.each(ATTEMPTS)('%s is refused, or changes nothing', async (statement) => {
    const client = await log.db.connect()
    try {
      expect((await client.query(`SELECT rolsuper FROM pg_roles WHERE rolname = current_user`)).rows).toEqual([
        { rolsuper: true },
      ])
      await client.query(`SET session_replication_role = ${role}`)
      const attempt = client.query(statement)
      if (isLeftOut(role, statement)) expect((await attempt).rowCount).toBe(0)
      else await expect(attempt).rejects.toMatchObject(REFUSED)
    } finally {
      client.release(true)
    }
    expect(await verifyAudit(log.store)).toMatchObject({ holds: true, entries: 3 })
  })

  it('an audit entry inserted by hand is numbered, dated and chained by the trigger, or refused on a replica', async () => {
    const own = await openLog()
    const client = await own.db.connect()
    try {
      await client.query(`SET session_replication_role = ${role}`)
      const insert = client.query(`
        INSERT INTO audit_entries (seq, at, actor_id, actor_name, action, outcome, request_id, previous_hash, hash)
        VALUES (77, '2001-01-01', 'opr_1', 'Ada', 'key.resolve', 'done', 'req_1', 'made', 'up')`)
      if (role === 'replica') {
        await expect(insert).rejects.toMatchObject(REFUSED)
        return
      }
      await insert
      const { rows } = await own.db.query("SELECT seq, at > now() - interval '1 min' AS now FROM audit_entries")
      expect(rows).toEqual([{ seq: '1', now: true }])
      expect(await verifyAudit(own.store)).toMatchObject({ holds: true, entries: 1 })
    } finally {
      client.release(true)
      await own.close()
    }
  })
})

describe('many writers of the audit log at once', () => {
  it('make one unbroken chain', async () => {
    const own = await openLog()
    try {
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let number = 0; number < 25; number++)
          await own.append({ actor: { id: `opr_${writer}`, name: `Writer ${writer}` }, target: `idem_${number}` })
      })
      await Promise.all(writers)
      expect(await verifyAudit(own.store, 64)).toMatchObject({ holds: true, entries: 200 })
    } finally {
      await own.close()
    }
  })

  it('wait for each other’s commits, and never chain to an entry that is rolled back', async () => {
    const own = await openLog()
    const client = await own.db.connect()
    try {
      await own.append()
      await client.query('BEGIN')
      await client.query(`
        INSERT INTO audit_entries (actor_id, actor_name, action, outcome, request_id)
        VALUES ('opr_1', 'Ada', 'key.resolve', 'done', 'req_1')`)
      const next = own.append({ target: 'idem_next' })
      await vi.waitFor(async () => {
        const { rows } = await own.db.query(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        expect(rows).toHaveLength(1)
      })
      await client.query('ROLLBACK')
      await next
      expect(await verifyAudit(own.store)).toMatchObject({ holds: true, entries: 2 })
    } finally {
      client.release()
      await own.close()
    }
  })
})

it('an audit entry may hold any text that PostgreSQL can store, and null for absent fields', async () => {
  const own = await openLog()
  try {
    await own.append({ reason: 'a "quote", a \\ and \u2028, ünïcödé 🙂\n', before: null, after: { n: 1e21, d: 0.1 } })
    await own.append(entryOf({ target: null, reason: null, before: { '': [null, { a: [] }] }, after: null }))
    expect(await verifyAudit(own.store)).toMatchObject({ holds: true, entries: 2 })
  } finally {
    await own.close()
  }
})

it('a session without a search_path can append to the audit log and disable an operator', async () => {
  const own = await openLog()
  const client = await own.db.connect()
  try {
    await client.query(`INSERT INTO operators (id, name, email, role)
      VALUES ('opr_1', 'Ada', 'ada@example.com', 'admin'), ('opr_2', 'Bea', 'bea@example.com', 'admin')`)
    await client.query(`SET search_path = ''`)
    await client.query(`INSERT INTO public.audit_entries (actor_id, actor_name, action, outcome, request_id)
      VALUES ('opr_1', 'Ada', 'operator.update', 'done', 'req_1')`)
    await client.query(`UPDATE public.operators SET disabled_at = now() WHERE id = 'opr_2'`)
    await expect(
      client.query(`UPDATE public.operators SET disabled_at = now() WHERE id = 'opr_1'`),
    ).rejects.toMatchObject({ constraint: 'operators_last_admin' })
    expect(await verifyAudit(own.store)).toMatchObject({ holds: true, entries: 1 })
  } finally {
    client.release(true)
    await own.close()
  }
})
