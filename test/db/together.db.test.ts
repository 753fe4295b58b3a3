// Many requests in one statement: who goes together, who gets what, and what one of them can do to the others.
import sql from 'sql-template-tag'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { isRefusal, StoreUnavailable } from '../../lib/db/sqlstate'
import { openStore, type Store } from '../../lib/db/store'
import { alone, gathering, isTogether, type Statement, type Together, together } from '../../lib/db/together'
import { barrier } from '../support/boundary'
import { cloneDatabase } from '../support/database'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let store: Store
beforeAll(async () => {
  database = await cloneDatabase()
  store = openStore(database.url, { max: 8, applicationName: 'together' })
  await store.pool.query('CREATE TABLE things (id text PRIMARY KEY, number int NOT NULL CHECK (number > 0), note text)')
})
beforeEach(() => store.pool.query('TRUNCATE things'))
afterAll(async () => {
  await store.close()
  await database.drop()
})

const ADD = (id: string, number: number, note: string | null) => sql`
  written AS (
    INSERT INTO things SELECT ${id}, ${number}::int, ${note} FROM sent ON CONFLICT DO NOTHING RETURNING *
  ), moved AS (SELECT * FROM written JOIN sent ON ${id} = written.id)
  SELECT id, number, ${note} AS said FROM moved`

const add = (id: string, number = 1, note: string | null = null) => together({ id, lock: id }, ADD(id, number, note))

const ids = ({ values }: Statement): string[] => [values[0]].flat() as string[]

/** Each statement that is sent waits until it is let go. */
function held() {
  const sent: { ids: string[]; go: ReturnType<typeof barrier> }[] = []
  const run = async <Row>(statement: Statement): Promise<Row[]> => {
    const go = barrier()
    sent.push({ ids: ids(statement), go })
    await go.pass()
    return store.query<Row>({ text: statement.text, values: statement.values })
  }
  return { sent, query: gathering(run, isRefusal) }
}

const arrived = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

describe('a statement that can be batched', () => {
  it('returns its own row to each caller of the batch, whatever the values contain', async () => {
    const notes = ['', 'NULL', null, '{a,"b"}', 'back\\slash "quoted"', '🐈 — ’', ' spaces ', "it's", '\t\n']
    const rows = await Promise.all(notes.map((note, i) => store.query(add(`id-${i}`, i + 1, note))))
    expect(rows).toEqual(notes.map((note, i) => [{ id: `id-${i}`, number: i + 1, said: note }]))
    const { rows: stored } = await store.pool.query('SELECT note FROM things ORDER BY number')
    expect(stored.map(({ note }) => note)).toEqual(notes)
  })

  it('returns no row to the refused caller of the batch, and only to that one', async () => {
    await store.query(add('taken'))
    const [free, taken] = await Promise.all([store.query(add('free')), store.query(add('taken'))])
    expect([free.length, taken.length]).toEqual([1, 0])
  })

  it('also runs as a single statement on a connection of the caller’s', async () => {
    const { rows } = await store.pool.query(add('one', 7, 'said'))
    expect(rows).toEqual([{ id: 'one', number: 7, said: 'said' }])
  })

  it('runs as a single statement with its values unchanged when it is marked as alone', async () => {
    const statement = alone(ADD('one', 7, 'said'))
    expect(isTogether(statement)).toBe(false)
    expect(await store.query(statement)).toEqual([{ id: 'one', number: 7, said: 'said' }])
  })
})

describe('batching', () => {
  it('sends statements one by one while none is under way', async () => {
    const { sent, query } = held()
    for (const id of ['a', 'b']) {
      const asked = query(add(id))
      await arrived()
      sent.at(-1)!.go.open()
      await asked
    }
    expect(sent.map((one) => one.ids)).toEqual([['a'], ['b']])
  })

  it('sends all statements that arrived during another one in one batch, in the order of their locks', async () => {
    const { sent, query } = held()
    const first = query(add('first'))
    await arrived()
    const others = ['c', 'a', 'b'].map((id) => query(add(id)))
    sent[0]!.go.open()
    await first
    await arrived()
    sent[1]!.go.open()
    await Promise.all(others)
    expect(sent.map((one) => one.ids)).toEqual([['first'], ['a', 'b', 'c']])
  })

  it('does not put two statements for one row into one batch: the second follows the first', async () => {
    const { sent, query } = held()
    const both = [query(add('same')), query(add('same'))]
    await arrived()
    sent[0]!.go.open()
    expect(await both[0]).toHaveLength(1)
    await arrived()
    sent[1]!.go.open()
    expect(await both[1]).toHaveLength(0)
    expect(sent.map((one) => one.ids)).toEqual([['same'], ['same']])
  })

  it('puts at most 64 statements into one batch, and runs all of 200', async () => {
    const asked = Array.from({ length: 200 }, (_, i) => `id-${i}`)
    const sizes: number[] = []
    const query = gathering(
      (statement) => {
        sizes.push(ids(statement).length)
        return store.query({ text: statement.text, values: statement.values })
      },
      () => false,
    )
    const rows = await Promise.all(asked.map((id) => query<{ id: string }>(add(id))))
    expect(rows.map(([row]) => row?.id)).toEqual(asked)
    expect(Math.max(...sizes)).toBe(64)
  })

  it('sends a statement by itself when the one under way is held up', async () => {
    const { sent, query } = held()
    const stuck = query(add('stuck'))
    await arrived()
    const other = query(add('other'))
    await expect.poll(() => sent.length).toBe(2)
    sent[1]!.go.open()
    expect(await other).toHaveLength(1)
    sent[0]!.go.open()
    expect(await stuck).toHaveLength(1)
  })
})

describe('batching while the database does not answer', () => {
  afterEach(() => vi.useRealTimers())

  it('sends four statements and fails the others with STORE_UNAVAILABLE after three seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { sent, query } = held()
    const asked = []
    for (const id of ['a', 'b', 'c', 'd']) {
      asked.push(query(add(id)))
      await arrived()
      vi.advanceTimersByTime(50)
    }
    expect(sent.map((one) => one.ids)).toEqual([['a'], ['b'], ['c'], ['d']])
    const told: string[] = []
    const late = ['e', 'f'].map((id) => query(add(id)).catch((error) => told.push(`${id} ${error.code}`)))
    vi.advanceTimersByTime(2999)
    await arrived()
    expect(told).toEqual([])
    vi.advanceTimersByTime(1)
    await Promise.all(late)
    expect(told).toEqual(['e STORE_UNAVAILABLE', 'f STORE_UNAVAILABLE'])
    vi.useRealTimers()
    for (const one of sent) one.go.open()
    expect((await Promise.all(asked)).map((rows) => rows.length)).toEqual([1, 1, 1, 1])
  })
})

describe('a batched statement that fails', () => {
  it('fails for its own caller only: the others succeed', async () => {
    const results = await Promise.allSettled([
      store.query(add('good')),
      store.query(add('bad', -1)),
      store.query(add('nul', 1, 'a\0b')),
      store.query(add('also')),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    const { rows } = await store.pool.query('SELECT id FROM things ORDER BY id')
    expect(rows.map(({ id }) => id)).toEqual(['also', 'good'])
  })

  it('fails for its own caller only when the server cancels it', async () => {
    const canceled = new StoreUnavailable(Object.assign(new Error('canceling statement'), { code: '57014' }))
    const query = gathering(
      (statement) =>
        ids(statement).includes('stuck')
          ? Promise.reject(canceled)
          : store.query({ text: statement.text, values: statement.values }),
      isRefusal,
    )
    const results = await Promise.allSettled([query(add('good')), query(add('stuck')), query(add('also'))])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('fails for all callers when the store is unreachable, and is not sent again', async () => {
    let runs = 0
    const query = gathering(() => {
      runs++
      return Promise.reject(new StoreUnavailable('gone'))
    }, isRefusal)
    const results = await Promise.allSettled([query(add('a')), query(add('b'))])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(runs).toBe(1)
  })
})

it('two nodes that send batches of the same keys in opposite order do not deadlock', async () => {
  const other = openStore(database.url, { max: 8, applicationName: 'together' })
  const keys = Array.from({ length: 40 }, (_, i) => `key-${String(i).padStart(3, '0')}`)
  try {
    for (let round = 0; round < 20; round++) {
      const send = (to: Store, wanted: string[]) =>
        wanted.map((key) =>
          to.query<Together>(together({ id: `${round}-${key}`, lock: key }, ADD(`${round}-${key}`, 1, null))),
        )
      const results = await Promise.all([...send(store, keys), ...send(other, keys.toReversed())])
      expect(results.filter((rows) => rows.length === 1)).toHaveLength(keys.length)
    }
    const { rows } = await store.pool.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
    expect(Number(rows[0].deadlocks)).toBe(0)
  } finally {
    await other.close()
  }
})
