// Steady traffic over three nodes by clients that do as the guide says: the same request with the same key until there is
// a final answer, not before the time that an answer names. What each client asked and got is in a journal.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Journal, Journey } from '../soak/journal'
import { type Answer, API_KEY, freshKey, type OrderView, orderBody, type ProblemView, send } from '../support/client'

/** Orders a second: enough that each kill finds some at every stage, little enough for a machine that does other things. */
const RATE = 12
/** Of each ten: the rest are plain orders. */
const ASYNC = 2
const REFUNDED = 1
const PATIENCE_MS = 30_000
/** A client comes back after the time that it was given, but not later than this. */
const LONGEST_PAUSE_MS = 3000

export interface Traffic {
  /** Of every answer that is not a replay, by the clock of `performance.now()`: when the database was at work. */
  servedAt: number[]
  /** No new requests; ends when every client has its final answer, or after the limit. */
  stop(limitMs: number): Promise<void>
}

export function startTraffic(urls: readonly string[], journal: Journal): Traffic {
  const servedAt: number[] = []
  const clients = new Set<Promise<void>>()
  let stopping = false
  let givenUp = false

  async function ask(journey: Journey, prefer: string | undefined): Promise<Answer | null> {
    const url = urls[Math.floor(Math.random() * urls.length)]
    const headers = {
      authorization: `Bearer ${API_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': journey.key,
      prefer,
    }
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answer = await journal.record(journey, journey.body, () =>
      send(new URL(journey.path, url), { method: 'POST', headers, body: journey.body, signal }),
    )
    if (answer?.status === 201 && !answer.headers['idempotent-replayed']) servedAt.push(performance.now())
    return answer
  }

  async function untilFinal(journey: Journey, prefer?: string): Promise<OrderView | null> {
    while (!givenUp) {
      const answer = await ask(journey, prefer)
      if (journey.final) return journey.final.status === 201 ? JSON.parse(journey.final.body) : null
      await sleep(Math.min(pauseOf(answer), LONGEST_PAUSE_MS) + 500 * Math.random())
    }
    return null
  }

  async function client(n: number): Promise<void> {
    const order = journal.begin('order', freshKey(), '/api/orders', orderBody())
    const placed = await untilFinal(order, n % 10 < ASYNC ? 'respond-async, wait=5' : undefined)
    if (!placed || n % 10 < 10 - REFUNDED) return
    await untilFinal(journal.begin('refund', freshKey(), `/api/orders/${placed.id}/refunds`, { amountCents: 100 }))
  }

  const sending = (async () => {
    const startedAt = performance.now()
    for (let n = 0; !stopping; n++) {
      await sleep(Math.max(0, startedAt + (n * 1000) / RATE - performance.now()))
      const running = client(n)
      clients.add(running)
      running.finally(() => clients.delete(running))
    }
  })()

  return {
    servedAt,
    async stop(limitMs) {
      stopping = true
      await sending
      await Promise.race([Promise.all(clients), sleep(limitMs)])
      givenUp = true
      await Promise.all(clients)
    },
  }
}

function pauseOf(answer: Answer | null): number {
  if (!answer || answer.status === 202) return 0
  return (answer.json<ProblemView>().retry.afterSeconds ?? 0) * 1000
}

/** Between two answers in a row, of which the second came between these two instants. */
export function longestGap(servedAt: readonly number[], from: number, to: number): number {
  const gaps = servedAt.map((at, i) => ({ at, ms: at - (servedAt[i - 1] ?? at) }))
  return Math.max(...gaps.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms))
}
