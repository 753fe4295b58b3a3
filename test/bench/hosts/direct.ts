// The server of `npm start` and its short way past Next, with a handler in place of our routes: what is left of a ratio
// on this host is our own work.
// Usage: direct.ts <handler>, with DATABASE_URL in the environment. Prints its URL.
import { direct } from '../../../lib/http/direct'
import type { KeyedRoute } from '../../../lib/http/keyed'
import { listen } from '../../../scripts/http-server'
import { HANDLERS } from '../handlers'

const MAX_BODY_BYTES = 256 * 1024

const { DATABASE_URL: databaseUrl = '' } = process.env
const handle = HANDLERS[process.argv[2] as keyof typeof HANDLERS]({ databaseUrl })
const server = await listen(0)
const route = {
  async answer(incoming) {
    const body = await incoming.read(MAX_BODY_BYTES)
    const answer = await handle(String(body), String(incoming.header('idempotency-key')))
    return { ...answer, headers: { ...answer.headers } }
  },
  mayReplay: () => false,
} as Pick<KeyedRoute, 'answer' | 'mayReplay'> as KeyedRoute
const answered = direct({ 'POST /api/orders': route })
server.open(
  (request, response) => answered(request, response) || response.writeHead(404).end(),
  (_, socket) => socket.destroy(),
)
console.log(`http://localhost:${server.port}`)
process.once('disconnect', () => process.exit())
