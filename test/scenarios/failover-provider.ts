// The provider of the fail-over proof: Stripe's wire format on loopback, in this process, so that it loses nothing of
// what it booked. It ignores idempotency keys: whoever calls it twice is charged twice.
import {
  answered,
  listOf,
  paymentIntent,
  type Reply,
  refund,
  type SeenRequest,
  startStripe,
} from '../support/stripe-server'

/** As long as an answer takes, so that a kill always finds calls under way. */
const ANSWERS_AFTER_MS = 40

export type Provider = Awaited<ReturnType<typeof openProvider>>

export async function openProvider() {
  const server = await startStripe()
  const intents: ReturnType<typeof paymentIntent>[] = []
  const refunds: ReturnType<typeof refund>[] = []

  function book({ path, params }: SeenRequest): Reply {
    const metadata = Object.fromEntries(
      [...params].flatMap(([name, value]) => {
        const [, field] = /^metadata\[(.+)\]$/.exec(name) ?? []
        return field ? [[field, value]] : []
      }),
    )
    const amount = Number(params.get('amount'))
    const made = path.endsWith('/refunds')
      ? refund({
          id: `re_${refunds.length + 1}`,
          amount,
          currency: 'usd',
          payment_intent: params.get('payment_intent')!,
          metadata,
        })
      : paymentIntent({ id: `pi_${intents.length + 1}`, amount, currency: params.get('currency')!, metadata })
    ;(made.object === 'refund' ? refunds : intents).push(made)
    return answered(made, ANSWERS_AFTER_MS)
  }
  const [listIntents, listRefunds] = [listOf(intents), listOf(refunds)]
  server.reply((request) => {
    if (request.method === 'POST') return book(request)
    return request.path.endsWith('/refunds') ? listRefunds(request) : listIntents(request)
  })

  const { host, port } = server.api
  return {
    url: `http://${host}:${port}`,
    /** Of one customer: a customer is charged for one order. */
    chargesOf: (customerId: string) => intents.filter(({ metadata }) => metadata.onceover_customer === customerId),
    refundsOfOrder: (orderId: string) => refunds.filter(({ metadata }) => metadata.onceover_order === orderId),
    /** All that it moved, by its own ids. */
    refs: () => [...intents, ...refunds].map(({ id }) => id),
    close: () => server.close(),
  }
}
