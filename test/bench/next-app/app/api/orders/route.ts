// Next's own host with a handler in place of our routes. HANDLER says which, when it is started.
import { HANDLERS, type Handler } from '../../../../handlers'

let handler: Handler | undefined

export async function POST(request: Request): Promise<Response> {
  handler ??= HANDLERS[process.env.HANDLER as keyof typeof HANDLERS]({ databaseUrl: process.env.DATABASE_URL ?? '' })
  const { status, headers, body } = await handler(await request.text(), String(request.headers.get('idempotency-key')))
  return new Response(body, { status, headers })
}
