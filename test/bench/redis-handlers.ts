// The unguarded order behind what people put in front of theirs, written as the documentation of each shows.
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache'
import { Idempotency } from '@node-idempotency/core'
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis'
import { createClient } from '@redis/client'
import { OrderRequest } from '../../lib/orders/schema'
import { type Handler, INVALID } from './handlers'
import { PROVIDER_TIME_LIMIT_MS } from './like-ours'
import { type Answer, unguardedOrders } from './unguarded-order'

interface Places {
  databaseUrl: string
  redisUrl: string
}

/** Of Lambda's own, what Powertools asks. */
type Context = Parameters<IdempotencyConfig['registerLambdaContext']>[0]

const A_DAY_SECONDS = 86_400

export const REDIS_HANDLERS = {
  async nodeIdempotency({ databaseUrl, redisUrl }: Places): Promise<Handler> {
    const placeOrder = unguardedOrders(databaseUrl)
    const storage = new RedisStorageAdapter({ url: redisUrl })
    await storage.connect()
    const idempotency = new Idempotency(storage, { cacheTTLMS: A_DAY_SECONDS * 1000, enforceIdempotency: true })
    return async (body, key) => {
      const order = OrderRequest.safeParse(JSON.parse(body))
      if (!order.success) return INVALID
      const request = {
        method: 'POST',
        path: '/api/orders',
        headers: { 'idempotency-key': key },
        body: order.data,
      }
      const stored = await idempotency.onRequest(request)
      if (stored) return { ...(stored.additional as Omit<Answer, 'body'>), body: stored.body as string }
      const { body: answered, ...additional } = await placeOrder(order.data)
      await idempotency.onResponse(request, { body: answered, additional })
      return { ...additional, body: answered }
    }
  },

  async powertools({ databaseUrl, redisUrl }: Places): Promise<Handler> {
    const placeOrder = unguardedOrders(databaseUrl)
    const client = await createClient({ url: redisUrl }).connect()
    // Without payload validation: its cache layer (2.35.0) forgets the hash when the answer is stored, and then refuses
    // every replay.
    const config = new IdempotencyConfig({
      eventKeyJmesPath: 'key',
      throwOnNoIdempotencyKey: true,
      expiresAfterSeconds: A_DAY_SECONDS,
    })
    // Outside of Lambda it would complain about the missing time limit, on every request.
    config.registerLambdaContext({ getRemainingTimeInMillis: () => PROVIDER_TIME_LIMIT_MS } as Context)
    const guarded = makeIdempotent(async (request: { key: string; order: OrderRequest }) => placeOrder(request.order), {
      persistenceStore: new CachePersistenceLayer({ client }),
      config,
    })
    return async (body, key) => {
      const order = OrderRequest.safeParse(JSON.parse(body))
      return order.success ? guarded({ key, order: order.data }) : INVALID
    }
  },
}
