// What a request costs the database: one statement to reserve and one to settle, a second one to be told that the key is
// taken, none for an answer at hand, and no transaction that stays open between two round trips.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
    if (/^\s*(BEGIN|COMMIT|ROLLBACK|START|END)\b/i.test(text)) return 'transaction'
    if (text.includes('INSERT INTO idempotency_records')) return 'reserve'
    if (text.includes("state = 'completed'")) return 'settle'
    if (text.includes("state = 'failed_retryable'")) return 'release'
    if (text.includes("state = 'unknown'")) return 'outcome unknown'
    if (text.includes("state = 'in_progress', attempt")) return 'claim'
    if (/AS stored\s+FROM idempotency_records/.test(text)) return 'find'
    return text
  })

describe('a fresh order', () => {
  it.each([
    ['charged', charged, ['reserve', 'settle']],
    ['declined', declined, ['reserve', 'settle']],
    ['refused', refused, ['reserve', 'release']],
    ['timed out', timedOut, ['reserve', 'outcome unknown']],
  ] as const)('that is %s takes two statements', async (_, outcome, statements) => {
    const gateway = scriptedGateway()
    gateway.nextCall(() => outcome())
    const sent = await bench.sentBy(() => bench.place(gateway, orderOf()))
    expect(verbs(sent)).toEqual(statements)
  })

  it('calls the provider between its two statements, with no transaction open', async () => {
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
    expect(verbs(sent)).toEqual(['reserve', 'settle'])
  })
})

describe('many fresh orders at once', () => {
  const many = 50

  it('take two batched statements in all', async () => {
    const calling = barrier(many)
    const gateway = scriptedGateway()
    for (let i = 0; i < many; i++)
      gateway.nextCall(async () => {
        await calling.pass()
        return charged()
      })
    const sent = await bench.sentBy(async () => {
      const placing = Array.from({ length: many }, () => bench.place(gateway, orderOf()))
      await calling.reached
      calling.open()
      expect(new Set((await Promise.all(placing)).map(toldBy))).toEqual(new Set(['201']))
    })
    expect(verbs(sent)).toEqual(['reserve', 'settle'])
  })

  it('with ten keys are charged once for each key, however they are batched', async () => {
    const gateway = scriptedGateway()
    const orders = Array.from({ length: 10 }, () => ({ body: orderOf(), key: newKey() }))
    const placing = Array.from({ length: many }, (_, i) => orders[i % orders.length]!).map(({ body, key }) =>
      bench.place(gateway, body, { key }),
    )
    const told = (await Promise.all(placing)).map(toldBy)
    expect(told.filter((one) => one === '201')).toHaveLength(orders.length)
    expect(gateway.calls).toHaveLength(orders.length)
  })
})

describe('a replay', () => {
  it('takes two statements and gives the same bytes', async () => {
    const gateway = scriptedGateway()
    const body = orderOf({ note: 'Zwölf Boxkämpfer — “jagen” 🐈' })
    const key = newKey()
    const first = await bench.place(gateway, body, { key })
    const before = await bench.recordOf(key)
    let again = first
    const sent = await bench.sentBy(async () => {
      again = await bench.place(gateway, body, { key })
    })
    expect(verbs(sent)).toEqual(['reserve', 'find'])
    expect(toldBy(first)).toBe('201')
    expect(toldBy(again)).toBe('201 replayed')
    expect(answerOf(again)).toEqual(answerOf(first))
    expect(await bench.recordOf(key)).toEqual(before)
    expect(gateway.calls).toHaveLength(1)
  })
})

describe('a refund', () => {
  it('takes two statements, also when the reservation itself rules it out', async () => {
    const orderId = await bench.paidOrder()
    const gateway = scriptedGateway()
    const sent = await bench.sentBy(() => bench.refund(gateway, orderId, { amountCents: 100 }))
    expect(verbs(sent)).toEqual(['reserve', 'settle'])
    const refusedOne = await bench.sentBy(() => bench.refund(gateway, 'ord_nobody_has', {}))
    expect(verbs(refusedOne)).toEqual(['reserve', 'settle'])
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
    expect(await second({ inDoubt: false })).toEqual(['reserve', 'find', 'claim', 'settle'])
  })

  it('of a record in doubt looks up the charge and checks its lease before it calls', async () => {
    const sent = await second({ inDoubt: true })
    expect(sent).toEqual(['reserve', 'find', 'claim', expect.stringContaining('SELECT 1'), 'settle'])
  })
})
