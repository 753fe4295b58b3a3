// What refunds make of an order, in each of its books. To import it is enough: the hooks are those of the file that does.
import { afterAll, beforeAll } from 'vitest'
import { answerOf, type Bench, openBench } from '../support/boundary'

export let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

export const orderNow = async (id: string) => {
  const [order] = await bench.rows<{ status: string; refunded: number; held: number }>(
    'SELECT status, refunded_cents::int AS refunded, held_cents::int AS held FROM orders WHERE id = $1',
    [id],
  )
  return order!
}
export const refundsOf = (orderId: string) =>
  bench.rows<{ status: string; cents: number }>(
    'SELECT status, amount_cents::int AS cents FROM refunds WHERE order_id = $1 ORDER BY created_at, id',
    [orderId],
  )
export const ledgerOf = (orderId: string) =>
  bench.rows<{ status: string; cents: number; ref: string }>(
    `SELECT status, amount_cents::int AS cents, provider_ref AS ref FROM ledger_entries
     WHERE order_id = $1 AND kind = 'refund' ORDER BY created_at, id`,
    [orderId],
  )
export const codeOf = (outcome: Parameters<typeof answerOf>[0]) => JSON.parse(answerOf(outcome).body).code
