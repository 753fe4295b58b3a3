// The table of moves in the code and the trigger in the database are one: every pair of states is tried past the
// library, as somebody with psql would.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MOVES, STATES, type State } from '../../lib/idempotency/states'
import { cloneDatabase } from '../support/database'
import { insertInto, move, pendingColumns, recordIn } from '../support/rows'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: pg.Pool
beforeAll(async () => {
  database = await cloneDatabase()
  db = new pg.Pool({ connectionString: database.url, max: 4 })
})
afterAll(async () => {
  await db.end()
  await database.drop()
})

const pairs = STATES.flatMap((from) => STATES.filter((to) => to !== from).map((to) => [from, to] as const))
const legal = pairs.filter(([from, to]) => MOVES[from].includes(to))
const illegal = pairs.filter(([from, to]) => !MOVES[from].includes(to))

const stateOf = async (id: string) =>
  (await db.query<{ state: State }>('SELECT state FROM idempotency_records WHERE id = $1', [id])).rows[0]?.state

const REFUSED = { code: '23514', message: expect.stringContaining('is not a legal move') }

describe('every pair of states', () => {
  it('is either a legal or an illegal move', () => {
    expect(legal).toHaveLength(Object.values(MOVES).flat().length)
    expect(legal.length + illegal.length + STATES.length).toBe(36)
  })

  it.each(legal)('%s may become %s', async (from, to) => {
    const id = await recordIn(db, from)
    await move(db, id, to)
    expect(await stateOf(id)).toBe(to)
  })

  it.each(illegal)('%s never becomes %s', async (from, to) => {
    const id = await recordIn(db, from)
    await expect(move(db, id, to)).rejects.toMatchObject(REFUSED)
    expect(await stateOf(id)).toBe(from)
  })
})

describe('a legal move', () => {
  it.each(legal)('from %s to %s needs its event in the timeline', async (from, to) => {
    const id = await recordIn(db, from)
    await expect(move(db, id, to, { timeline: 'timeline' })).rejects.toMatchObject(REFUSED)
  })

  it.each(legal)('from %s to %s needs a higher version', async (from, to) => {
    const id = await recordIn(db, from)
    await expect(move(db, id, to, { version: 'version' })).rejects.toMatchObject(REFUSED)
  })

  it.each(legal)('from %s to %s raises the attempt if and only if it is a claim', async (from, to) => {
    const id = await recordIn(db, from)
    const right = to === 'in_progress' ? 1 : 0
    for (const wrong of [-1, 0, 1, 2].filter((step) => step !== right))
      await expect(move(db, id, to, { attempt: `attempt + ${wrong}` })).rejects.toMatchObject({ code: '23514' })
    await move(db, id, to)
  })
})

describe('an update that is not a move', () => {
  it.each(STATES)('of a record that is %s can’t change its attempt or lower its version', async (state) => {
    const id = await recordIn(db, state)
    const set = (what: string) => db.query(`UPDATE idempotency_records SET ${what} WHERE id = $1`, [id])
    await set('replay_count = replay_count + 1')
    await set('version = version + 1')
    await expect(set('attempt = attempt + 1')).rejects.toMatchObject(REFUSED)
    await expect(set('version = version - 1')).rejects.toMatchObject(REFUSED)
  })
})

describe('the first state of a record', () => {
  it.each(STATES.filter((state) => state !== 'pending' && state !== 'in_progress'))('is never %s', async (state) => {
    const columns = { ...pendingColumns(), state, attempt: 1 }
    await expect(insertInto(db, 'idempotency_records', columns)).rejects.toMatchObject({
      code: '23514',
      message: expect.stringContaining('begins pending or in_progress'),
    })
  })
})

describe('deleting a record', () => {
  it.each(STATES.filter((state) => state !== 'expired'))('is refused while it is %s', async (state) => {
    const id = await recordIn(db, state)
    await expect(db.query('DELETE FROM idempotency_records WHERE id = $1', [id])).rejects.toMatchObject({
      code: '23514',
      message: expect.stringContaining('only an expired record may be deleted'),
    })
  })

  it('is allowed once it is expired', async () => {
    const id = await recordIn(db, 'expired')
    await db.query('DELETE FROM idempotency_records WHERE id = $1', [id])
    expect(await stateOf(id)).toBeUndefined()
  })
})

describe('the identity of a record', () => {
  it.each([
    ['id', `'idem_other'`],
    ['tenant_id', `'ten_other'`],
    ['endpoint', `'POST /api/other'`],
    ['key', `'another-key-altogether'`],
    ['fingerprint', `'v1:${'1'.repeat(64)}'`],
    ['async', 'NOT async'],
    ['created_at', `created_at - interval '1 s'`],
  ])('never changes: %s', async (column, value) => {
    for (const state of STATES) {
      const id = await recordIn(db, state)
      await expect(
        db.query(`UPDATE idempotency_records SET ${column} = ${value} WHERE id = $1`, [id]),
      ).rejects.toMatchObject({ code: '23514', message: expect.stringContaining('its identity is fixed') })
    }
  })

  it('may be written again unchanged', async () => {
    const id = await recordIn(db, 'completed')
    await db.query('UPDATE idempotency_records SET key = key, fingerprint = fingerprint WHERE id = $1', [id])
  })
})
