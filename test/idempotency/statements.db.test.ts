// What a request costs the database: one transaction to reserve and one to settle, in a fixed order of statements; a read
// where the key is taken; and no transaction that stays open while the provider is called.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Boundary } from '../../lib/idempotency/boundary'
import { openBatches } from '../../lib/idempotency/store/batches'
import {
  answerOf,
  type Bench,
  barrier,
  charged,
  declined,
  newKey,
  openBench,
  orderOf,
  refused,
  scriptedGateway,
  timedOut,
  toldBy,
} from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

const verbs = (sent: string[]) =>
  sent.map((text) => {
    if (/^(BEGIN|COMMIT|ROLLBACK)$/.test(text)) return text
    if (text.includes('INSERT INTO orders')) return 'insert orders'
    if (text.includes('UPDATE orders o SET status')) return 'update orders'
    if (text.includes('INSERT INTO ledger_entries')) return 'book'
    if (text.includes('INSERT INTO idempotency_records')) return 'reserve'
    if (text.includes("state = 'completed'")) return 'settle'
    if (text.includes("state = 'failed_retryable'")) return 'release'
    if (text.includes("state = 'unknown'")) return 'outcome unknown'
    if (text.includes("state = 'in_progress', attempt")) return 'claim'
    if (/AS stored\s+FROM idempotency_records/.test(text)) return 'find'
    return text
  })

const RESERVED = ['BEGIN', 'reserve', 'insert orders', 'COMMIT']
const SETTLED = ['BEGIN', 'settle', 'update orders', 'book', 'COMMIT']
const TAKEN = ['BEGIN', 'reserve', 'COMMIT', 'find']

describe('a fresh order', () => {
  it.each([
    ['charged', charged, SETTLED],
    ['declined', declined, SETTLED],
    ['refused', refused, ['BEGIN', 'release', 'COMMIT']],
    ['timed out', timedOut, ['BEGIN', 'outcome unknown', 'COMMIT']],
  ] as const)('that is %s takes two transactions', async (_, outcome, statements) => {
    const gateway = scriptedGateway()
    gateway.nextCall(() => outcome())
    const sent = await bench.sentBy(() => bench.place(gateway, orderOf()))
    expect(verbs(sent)).toEqual([...RESERVED, ...statements])
  })

  it('calls the provider between its two transactions, with none open', async () => {
    const gateway = scriptedGateway()
    const calling = barrier()
    gateway.nextCall(async () => {
      await calling.pass()
      return charged()
    })
    const sent = await bench.sentBy(async () => {
      const placing = bench.place(gateway, orderOf())
      await calling.reached
      expect(
        await bench.rows(`SELECT state FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'bench' AND state <> 'idle'`),
      ).toEqual([])
      calling.open()
      await placing
    })
    expect(verbs(sent)).toEqual([...RESERVED, ...SETTLED])
  })
})

describe('many fresh orders at once', () => {
  const many = 50
  let batching: Boundary
  beforeAll(() => {
    batching = { ...bench.boundary, batches: openBatches(bench.store) }
  })

  it('take two transactions in all', async () => {
    const calling = barrier(many)
    const gateway = scriptedGateway()
    for (let i = 0; i < many; i++)
      gateway.nextCall(async () => {
        await calling.pass()
        return charged()
      })
    const operation = bench.placeOrder(gateway)
    const sent = await bench.sentBy(async () => {
      const placing = Array.from({ length: many }, () => bench.ask(operation, orderOf(), { boundary: batching }))
      await calling.reached
      calling.open()
      expect(new Set((await Promise.all(placing)).map(toldBy))).toEqual(new Set(['201']))
    })
    expect(verbs(sent)).toEqual([...RESERVED, ...SETTLED])
  })

  it('with ten keys are charged once for each key, however they are batched', async () => {
    const gateway = scriptedGateway()
    const orders = Array.from({ length: 10 }, () => ({ body: orderOf(), key: newKey() }))
    const operation = bench.placeOrder(gateway)
    const placing = Array.from({ length: many }, (_, i) => orders[i % orders.length]!).map(({ body, key }) =>
      bench.ask(operation, body, { key, boundary: batching }),
    )
    const told = (await Promise.all(placing)).map(toldBy)
    expect(told.filter((one) => one === '201')).toHaveLength(orders.length)
    expect(gateway.calls).toHaveLength(orders.length)
  })
})

describe('a replay', () => {
  it('from the store takes a refused reservation and a read, and gives the same bytes', async () => {
    const gateway = scriptedGateway()
    const body = orderOf({ note: 'Zwölf Boxkämpfer — “jagen” 🐈' })
    const key = newKey()
    const first = await bench.place(gateway, body, { key })
    const before = await bench.recordOf(key)
    let again = first
    const sent = await bench.sentBy(async () => {
      again = await bench.place(gateway, body, { key })
    })
    expect(verbs(sent)).toEqual(TAKEN)
    expect(toldBy(first)).toBe('201')
    expect(toldBy(again)).toBe('201 replayed')
    expect(answerOf(again)).toEqual(answerOf(first))
    expect(await bench.recordOf(key)).toEqual(before)
    expect(gateway.calls).toHaveLength(1)
  })
})

describe('a refund', () => {
  it('takes two transactions, also when the reservation itself rules it out', async () => {
    const orderId = await bench.paidOrder()
    const gateway = scriptedGateway()
    const transactions = (sent: string[]) => verbs(sent).filter((verb) => ['BEGIN', 'reserve', 'settle'].includes(verb))
    const sent = await bench.sentBy(() => bench.refund(gateway, orderId, { amountCents: 100 }))
    expect(transactions(sent)).toEqual(['BEGIN', 'reserve', 'BEGIN', 'settle'])
    const refusedOne = await bench.sentBy(() => bench.refund(gateway, 'ord_nobody_has', {}))
    expect(transactions(refusedOne)).toEqual(['BEGIN', 'reserve', 'BEGIN', 'settle'])
    expect(gateway.calls).toHaveLength(1)
  })
})

describe('a second attempt', () => {
  async function second({ inDoubt }: { inDoubt: boolean }): Promise<string[]> {
    const gateway = scriptedGateway()
    gateway.nextCall(refused)
    const body = orderOf()
    const key = newKey()
    await bench.place(gateway, body, { key })
    if (inDoubt) await bench.doubt(key)
    return verbs(await bench.sentBy(() => bench.place(gateway, body, { key })))
  }

  it('claims the key, calls the provider and settles', async () => {
    expect(await second({ inDoubt: false })).toEqual([...TAKEN, 'BEGIN', 'claim', 'COMMIT', ...SETTLED])
  })

  it('of a record in doubt looks up the charge and checks its lease before it calls', async () => {
    const sent = await second({ inDoubt: true })
    expect(sent).toEqual([...TAKEN, 'BEGIN', 'claim', 'COMMIT', expect.stringContaining('SELECT 1'), ...SETTLED])
  })
})
