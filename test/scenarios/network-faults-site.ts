// One node between a database and a payment provider, with a line to each that can fail, and a line of its own for
// notifications and jobs. The provider is on the other side of a real network, and some of its customers have the bad
// luck that it ignores idempotency keys for them.
import { type Answer, createClient, freshKey, type OrderRequest, orderBody, SECRETS } from '../support/client'
import { cloneDatabase } from '../support/database'
import { type Call, toldBy } from '../support/history'
import { openLine } from '../support/line'
import { HOLDABLE, startNode } from '../support/node'
import { answered, listOf, paymentIntent, type Reply, type SeenRequest, startStripe } from '../support/stripe-server'
import { runSql } from '../support/tenant'

export const TIME_LIMIT_MS = 1500
export const LEASE_MS = 5000
export const SETTLE_MS = 1000
export const INTERVAL_MS = 1000

const ENV = {
  ...SECRETS,
  ...HOLDABLE,
  GATEWAY: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  GATEWAY_TIMEOUT_MS: String(TIME_LIMIT_MS),
  LEASE_SECONDS: String(LEASE_MS / 1000),
  SETTLE_SECONDS: String(SETTLE_MS / 1000),
  SWEEP_INTERVAL_SECONDS: String(INTERVAL_MS / 1000),
  RECONCILE_INTERVAL_SECONDS: String(INTERVAL_MS / 1000),
}

/** What a node may have open at most, by the sizes of its pools; jobs and notifications have connections of their own. */
const STORE_CONNECTIONS = 16
const DIRECT_CONNECTIONS = 13

export interface Asked {
  key: string
  body: OrderRequest
  /** Where it was when the fault struck, for whoever reads a failure. */
  about: string
}

export type FaultSite = Awaited<ReturnType<typeof openFaultSite>>

export async function openFaultSite() {
  const database = await cloneDatabase()
  const server = await startStripe()
  const provider = openProvider(server)
  const { host, port } = server.api
  const lines = {
    database: await openLine(database.url),
    direct: await openLine(database.url),
    provider: await openLine(`http://${host}:${port}`),
  }
  const node = await startNode({
    databaseUrl: lines.database.url,
    env: { ...ENV, DIRECT_DATABASE_URL: lines.direct.url, STRIPE_API_URL: lines.provider.url },
  })
  const client = createClient(node.url)
  const calls: Call[] = []

  async function ask({ key, body }: Asked, headers = {}): Promise<{ answer: Answer; ms: number }> {
    const call: Call = {
      key,
      request: JSON.stringify(body),
      askedAt: performance.now(),
      answeredAt: Number.POSITIVE_INFINITY,
      told: null,
    }
    calls.push(call)
    const answer = await client.order(key, body, headers)
    call.answeredAt = performance.now()
    call.told = toldBy(answer)
    return { answer, ms: call.answeredAt - call.askedAt }
  }

  return {
    node,
    client,
    provider,
    lines,
    calls,
    ask,
    sql: <Row>(text: string, values?: unknown[]) => runSql<Row>(database.url, text, values),
    async heal() {
      provider.answerHalf(false)
      await Promise.all(Object.values(lines).map((line) => line.heal()))
    },
    /** Each connection that the database has is one that the node knows of, and there are no more than its pools hold. */
    async leaks(): Promise<string[]> {
      const backends = await runSql<{ name: string }>(
        database.url,
        `SELECT application_name || ' ' || coalesce(state, '') AS name FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY 1`,
      )
      const [store, direct] = [lines.database.count(), lines.direct.count()]
      return [
        ...(store > STORE_CONNECTIONS ? [`${store} connections of the store`] : []),
        ...(direct > DIRECT_CONNECTIONS ? [`${direct} connections for jobs and notifications`] : []),
        ...(backends.length === store + direct
          ? []
          : [`on the lines ${store} and ${direct}, in the database ${backends.map(({ name }) => name).join(', ')}`]),
      ]
    },
    async close() {
      await node.kill()
      await Promise.all(Object.values(lines).map((line) => line.close()))
      await server.close()
      await database.drop()
    },
  }
}

const KEYLESS = 'cus_keyless_'

/** One with a provider that honours keys, one with a provider that does not. */
export function orders(about: string, paymentMethod = 'pm_ok'): Asked[] {
  const plain = orderBody({ paymentMethod })
  const keyless = orderBody({ paymentMethod, customerId: `${KEYLESS}${freshKey()}` })
  return [
    { key: freshKey(), body: plain, about },
    { key: freshKey(), body: keyless, about: `${about}, provider without keys` },
  ]
}

/** How long its answer takes to a payment method that says so. */
const SLOW = /^pm_slow_(\d+)$/

function openProvider(server: Awaited<ReturnType<typeof startStripe>>) {
  const booked: ReturnType<typeof paymentIntent>[] = []
  const list = listOf(booked)
  let halfAnswers = false

  function charge({ params, headers }: SeenRequest): Reply {
    const metadata = Object.fromEntries(
      ['onceover_key', 'onceover_order', 'onceover_customer'].map((name) => [
        name,
        params.get(`metadata[${name}]`) ?? '',
      ]),
    )
    const honoursKeys = !metadata.onceover_customer?.startsWith(KEYLESS)
    const before = booked.find(({ idempotencyKey }) => honoursKeys && idempotencyKey === headers['idempotency-key'])
    const intent =
      before ??
      paymentIntent({
        id: `pi_${booked.length + 1}`,
        amount: Number(params.get('amount')),
        currency: params.get('currency') ?? '',
        metadata,
        idempotencyKey: headers['idempotency-key'],
      })
    if (!before) booked.push(intent)
    const [, slowMs] = SLOW.exec(params.get('payment_method') ?? '') ?? []
    return halfAnswers ? 'half' : answered(intent, Number(slowMs ?? 0))
  }
  server.reply((request) => (request.method === 'POST' ? charge(request) : list(request)))

  const chargesOf = ({ body }: Asked) =>
    booked.filter(({ metadata }) => metadata.onceover_customer === body.customerId).length
  /** Requests to charge that arrived, whatever became of them. */
  const requestsOf = ({ body }: Asked) =>
    server.seen.filter(
      ({ method, params }) => method === 'POST' && params.get('metadata[onceover_customer]') === body.customerId,
    ).length
  return {
    chargesOf,
    requestsOf,
    /** From now on it breaks off in the middle of each answer. */
    answerHalf: (half: boolean) => {
      halfAnswers = half
    },
  }
}
