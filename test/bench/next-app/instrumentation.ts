// What instrumentation.ts of the product leaves for the server of `npm start`, with a handler in place of our routes.
import { MAX_BODY_BYTES } from '../../../lib/http/body'
import type { KeyedRoute } from '../../../lib/http/keyed'
import type { Services } from '../../../lib/node/services'
import type { RunningNode } from '../../../lib/node/start'
import { HANDLERS } from '../handlers'

export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { HANDLER, DATABASE_URL: databaseUrl = '' } = process.env
  const handle = HANDLERS[HANDLER as keyof typeof HANDLERS]({ databaseUrl })
  const route = {
    async answer(incoming) {
      const body = await incoming.read(MAX_BODY_BYTES)
      const answer = await handle(String(body), String(incoming.header('idempotency-key')))
      return { ...answer, headers: { ...answer.headers } }
    },
  } as Pick<KeyedRoute, 'answer'> as KeyedRoute
  // Nothing is stored, so nothing is answered from memory.
  const notifications = { on() {}, onLost() {}, isCurrent: () => false, currentMs: () => null, latestMs: () => 0 }
  const services = { config: { fastPath: true, maxRequestAgeMs: null }, notifications } as unknown as Services
  const node: Pick<RunningNode, 'services' | 'routes' | 'stop'> = {
    services,
    routes: { 'POST /api/orders': route },
    stop: async () => {},
  }
  ;(globalThis as unknown as Record<symbol, unknown>)[Symbol.for('onceover.node')] = { node }
}
