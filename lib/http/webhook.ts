// A provider's webhook: the gateway in use, size, signature, then the evidence. Any 2xx means that it need not come
// again: what was told before or is none of ours is taken in too; only what could not be stored is asked for again.
import { databaseNowMs } from '../db/clock'
import { type Services, services } from '../node/services'
import type { Gateway, ProviderEvent } from '../payments/gateway'
import { applyProviderEvent } from '../reconciliation/evidence'
import { readRaw } from './body'
import { countProblem } from './count-problem'
import { problem } from './problem'
import { failure, inRequest, json, type Parts, toResponse } from './respond'

interface Message {
  rawBody: string
  headers: Headers
  nowMs: number
  node: Services
}

type Read =
  | { kind: 'bad_signature' }
  | { kind: 'invalid'; issues: { path: string; message: string }[] }
  /** `event` is null for what is genuine and of no concern. */
  | { kind: 'genuine'; event: ProviderEvent | null }

interface Webhook {
  gateway: Gateway['name']
  read(message: Message): Promise<Read>
}

export function webhook(hook: Webhook): (request: Request) => Promise<Response> {
  return (request) =>
    inRequest(request, async (requestId) => {
      const parts = await takeIn(hook, request).catch((error) => failure(error, requestId))
      countProblem(parts, `POST /api/webhooks/${hook.gateway}`)
      return toResponse(parts, { 'x-request-id': requestId })
    })
}

async function takeIn(hook: Webhook, request: Request): Promise<Parts> {
  const node = services()
  if (node.gateway.name !== hook.gateway) return problem('not_found')
  const rawBody = await readRaw(request)
  if (rawBody === null) return problem('body_too_large', { retry: 'none' })
  const read = await hook.read({ rawBody, headers: request.headers, nowMs: databaseNowMs(), node })
  switch (read.kind) {
    case 'bad_signature':
      return problem('invalid_signature')
    case 'invalid':
      return problem('invalid_request', { retry: 'none', issues: read.issues })
    case 'genuine':
      if (read.event) await applyProviderEvent(node.boundary, node.operations, read.event)
      return json(200, { received: true })
  }
}
