// What instrumentation.ts of the product leaves for the server of `npm start`, with a handler in place of our routes.
import { MAX_BODY_BYTES } from '../../../lib/http/body'
import { direct } from '../../../lib/http/direct'
import type { KeyedRoute } from '../../../lib/http/keyed'
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
    mayReplay: () => false,
  } as Pick<KeyedRoute, 'answer' | 'mayReplay'> as KeyedRoute
  const node: Pick<RunningNode, 'direct' | 'stop'> = {
    direct: direct({ 'POST /api/orders': route }),
    stop: async () => {},
  }
  ;(globalThis as unknown as Record<symbol, unknown>)[Symbol.for('onceover.node')] = { node }
}
