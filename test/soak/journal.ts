// What every client asked and was told, key by key. A key that has had its answer for a while is checked and forgotten,
// so that a run of hours needs no more memory than one of minutes.
import type { Answer } from '../support/client'
import { type Call, contradictions, saidBy, type Told, toldBy } from '../support/history'

export interface Journey {
  kind: string
  key: string
  path: string
  body: object
  calls: Call[]
  underWay: number
  /** The answer that holds from now on. */
  final: Told | null
  startedAt: number
  finalAt: number
  /** Somebody ends the key on purpose, or sends it with another request. */
  expiring: boolean
  reused: boolean
}

/** What a client may be told; anything else is a bug, on this side or on that. */
const CODES = new Set([
  'payment_declined',
  'order_not_refundable',
  'refund_exceeds_order',
  'idempotency_key_in_progress',
  'idempotency_outcome_unknown',
  'payment_provider_unavailable',
  'payment_outcome_unknown',
  'idempotency_store_unavailable',
  'restore_in_progress',
])
/** Later questions about a key, such as replays, come within this time. */
const REMEMBERED_MS = 30_000
/** Others that are told of, the rest is counted. */
const MOST_TOLD = 20

export interface Checked {
  orderIds: string[]
  refundIds: string[]
}

export type Journal = ReturnType<typeof openJournal>

export function openJournal() {
  const journeys = new Map<string, Journey>()
  const wrong: string[] = []
  const statuses: Record<string, number> = {}
  let wrongs = 0
  let keys = 0
  let longestMs = 0

  function tell(sentence: string) {
    wrongs++
    if (wrong.length < MOST_TOLD) wrong.push(sentence)
  }

  function note(journey: Journey, call: Call, answer: Answer) {
    const told = toldBy(answer)
    call.answeredAt = performance.now()
    call.told = told
    const name = told.code ? `${told.status} ${told.code}` : String(told.status)
    statuses[name] = (statuses[name] ?? 0) + 1
    const fine =
      told.status === 201 ||
      told.status === 202 ||
      (told.code !== null && CODES.has(told.code)) ||
      (told.code === 'idempotency_key_expired' && journey.expiring) ||
      (told.code === 'idempotency_key_reused' && journey.reused)
    if (!fine) tell(`${journey.kind} ${journey.key}: ${told.status} ${told.body}`)
    if (saidBy(told) !== 'final' || journey.final) return
    journey.final = told
    journey.finalAt = call.answeredAt
    longestMs = Math.max(longestMs, journey.finalAt - journey.startedAt)
  }

  return {
    journeys,
    statuses,
    wrong,
    contradictions: () => wrongs,
    keys: () => keys,
    longestMs: () => longestMs,
    begin(kind: string, key: string, path: string, body: object): Journey {
      const startedAt = performance.now()
      const journey: Journey = {
        ...{ kind, key, path, body, calls: [], underWay: 0, final: null, startedAt, finalAt: 0 },
        ...{ expiring: false, reused: false },
      }
      journeys.set(key, journey)
      keys++
      return journey
    },
    /** Null where no answer came. */
    async record(journey: Journey, body: object, asking: () => Promise<Answer>): Promise<Answer | null> {
      const call: Call = {
        key: journey.key,
        request: `${journey.path} ${JSON.stringify(body)}`,
        askedAt: performance.now(),
        answeredAt: Number.POSITIVE_INFINITY,
        told: null,
      }
      journey.calls.push(call)
      journey.underWay++
      try {
        const answer = await asking()
        note(journey, call, answer)
        return answer
      } catch {
        statuses['no answer'] = (statuses['no answer'] ?? 0) + 1
        return null
      } finally {
        journey.underWay--
      }
    },
    open: () => [...journeys.values()].filter(({ final }) => !final),
    /** Checks and forgets what has been final for long enough; says which orders and refunds clients were promised. */
    forget(now = performance.now()): Checked {
      const checked: Checked = { orderIds: [], refundIds: [] }
      for (const [key, journey] of journeys) {
        const { final, finalAt, underWay, calls } = journey
        if (!final || underWay > 0 || finalAt > now - REMEMBERED_MS) continue
        for (const sentence of contradictions(calls)) tell(sentence)
        journeys.delete(key)
        if (final.status !== 201) continue
        const { id } = JSON.parse(final.body) as { id: string }
        ;(id.startsWith('ord_') ? checked.orderIds : checked.refundIds).push(id)
      }
      return checked
    },
    /** The rest, when there is nothing more to come. */
    forgetAll(): Checked {
      for (const { calls, final } of journeys.values()) if (!final) for (const s of contradictions(calls)) tell(s)
      return this.forget(Number.POSITIVE_INFINITY)
    },
  }
}
