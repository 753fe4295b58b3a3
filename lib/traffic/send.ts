// Sending a plan through the real API, as any client would: over HTTP, with a key for each thing that shall happen
// once. It knows nothing of the service but its address and an API key.
import { randomUUID } from 'node:crypto'
import type { Kind, OrderBody, Step } from './plan'

export interface Target {
  url: string
  apiKey: string
}

export interface Sent {
  kind: Kind
  requests: number
  /** How often each status came back. */
  statuses: Record<string, number>
}

interface Options {
  /** Steps a second. */
  rate: number
  signal?: AbortSignal
}

/** In order of their end. What can't be sent at all ends the traffic: there is nobody to send it to. */
export async function* sendPlan(target: Target, plan: readonly Step[], { rate, signal }: Options): AsyncIterable<Sent> {
  const underWay = new Set<Promise<void>>()
  const ended: (Sent | Error)[] = []
  function* drained() {
    for (let one = ended.shift(); one; one = ended.shift()) {
      if (one instanceof Error) throw one
      yield one
    }
  }
  const startedMs = performance.now()
  for (const [i, step] of plan.entries()) {
    await pause(startedMs + (i * 1000) / rate - performance.now())
    if (signal?.aborted) break
    yield* drained()
    const sending = sendStep(target, step)
      .then(
        (sent) => void ended.push(sent),
        (error) => void ended.push(error),
      )
      .finally(() => underWay.delete(sending))
    underWay.add(sending)
  }
  while (underWay.size > 0) {
    await Promise.race(underWay)
    yield* drained()
  }
  yield* drained()
}

async function sendStep(target: Target, step: Step): Promise<Sent> {
  const key = randomUUID()
  const sent: Sent = { kind: step.kind, requests: 0, statuses: {} }
  const count = (response: Response) => {
    sent.requests++
    sent.statuses[response.status] = (sent.statuses[response.status] ?? 0) + 1
    return response
  }
  const order = (body: OrderBody = step.body) => post(target, '/api/orders', key, body, step.respondAsync).then(count)
  const { next } = step
  if (next?.do === 'duplicate') {
    await Promise.all(Array.from({ length: 1 + next.times }, () => order()))
    return sent
  }
  const first = await order()
  if (next?.do === 'retry') for (let i = 0; i < next.times; i++) await order()
  if (next?.do === 'reuse')
    await order({ ...step.body, items: step.body.items.map((item) => ({ ...item, quantity: item.quantity + 1 })) })
  if (next?.do === 'refund' && first.status === 201) {
    const { id } = (await first.json()) as { id: string }
    const { amountCents, reason } = next
    await post(target, `/api/orders/${id}/refunds`, randomUUID(), { amountCents, ...(reason ? { reason } : {}) }).then(
      count,
    )
  }
  return sent
}

/** Longer than the longest wait of the service itself. */
const GIVE_UP_MS = 90_000

function post(target: Target, path: string, key: string, body: object, respondAsync = false): Promise<Response> {
  return fetch(`${target.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${target.apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
      ...(respondAsync ? { prefer: 'respond-async' } : {}),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(GIVE_UP_MS),
  })
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, ms)))
