// The embedded provider. It stands for the other side of a network: nothing it does joins a transaction of ours, all it
// remembers outlives this process, and each ending says no more than a caller out there could know.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { CallOutcome, Effected, EffectRequest, Gateway, LookUpOutcome, LookUpRequest } from './gateway'
import { behaviourOf, type Course, courseOf, happensOnce } from './sandbox-behaviour'
import { type Exchange, exchange } from './sandbox-exchange'
import {
  bookAgain,
  bookOnce,
  type CountRow,
  countAttempt,
  type EntryRow,
  entryOf,
  findEntry,
  findEntryByRef,
  type ListRow,
  pageOf,
  pageOfEntries,
} from './sandbox-ledger'
import { withReport } from './sandbox-webhooks-outbox'
import { openTimeLimit, type TimeLimit } from './time-limit'

export { listCharges } from './sandbox-ledger'

export interface SandboxOptions {
  /** The sandbox's own: what waits for it must not wait for our transactions. */
  pool: Pool
  /** false: a provider without idempotency keys, which charges again for each attempt that reaches it. */
  idempotent: boolean
  timeLimitMs: number
  /** Each entry is reported so long after it is there; null or absent: none is. */
  webhookDelayMs?: number | null
}

const TIMED_OUT: CallOutcome = { kind: 'unclear', code: 'timeout' }

export function createSandbox({ pool, idempotent, timeLimitMs, webhookDelayMs = null }: SandboxOptions): Gateway {
  const bookOnly = idempotent ? bookOnce : bookAgain
  const book = (...entry: Parameters<typeof bookOnly>) =>
    webhookDelayMs === null ? bookOnly(...entry) : withReport(bookOnly(...entry), webhookDelayMs)

  // Without a listener a lost idle connection would end the process; the next call finds out by itself.
  if (pool.listenerCount('error') === 0) pool.on('error', () => {})

  async function execute(request: EffectRequest, limit: TimeLimit): Promise<CallOutcome> {
    const behaviour = behaviourOf(request)
    let attempt = 1
    if (happensOnce(behaviour)) {
      const counted = await exchange<CountRow>(pool, limit, countAttempt(request.providerKey))
      if (counted.kind !== 'answered') return withoutAnswer(counted)
      attempt = onlyRow(counted.value).count
    }

    const course = courseOf(behaviour, attempt)
    if (!course.reaches) {
      if (course.ending === 'refused') return { kind: 'not_executed', code: 'connection_refused' }
      await limit.over
      return TIMED_OUT
    }

    const booked = await exchange<EntryRow>(pool, limit, book(request, course.status, course.lateMs))
    if (booked.kind !== 'answered') return withoutAnswer(booked)
    return answer(onlyRow(booked.value), course, limit)
  }

  async function lookUp(request: LookUpRequest, limit: TimeLimit): Promise<LookUpOutcome> {
    if (behaviourOf(request).kind === 'unreachable') return { kind: 'unreachable', code: 'provider_unreachable' }
    const found = await exchange<EntryRow>(pool, limit, findEntry(request))
    if (found.kind !== 'answered') return { kind: 'unreachable', code: found.code }
    const entry = found.value[0]
    if (!entry) return { kind: 'not_found' }
    if (entry.status === 'failed') return { kind: 'declined', providerRef: entry.ref }
    return { kind: 'succeeded', ...effected(entry), createdAt: entry.booked_at }
  }

  async function limited<R, O>(request: R, call: (request: R, limit: TimeLimit) => Promise<O>): Promise<O> {
    const limit = openTimeLimit(timeLimitMs)
    try {
      return await call(request, limit)
    } finally {
      limit.close()
    }
  }

  return {
    name: 'sandbox',
    timeLimitMs,
    execute: (request) => limited(request, execute),
    lookUp: (request) => limited(request, lookUp),
    async findByRef(kind, ref) {
      const found = await limited(findEntryByRef(kind, ref), (statement, limit) =>
        exchange<ListRow>(pool, limit, statement),
      )
      if (found.kind !== 'answered') return 'unreachable'
      return found.value[0] ? entryOf(found.value[0]) : null
    },
    async listCreated(window, cursor) {
      const page = await limited(pageOfEntries(window, cursor), (statement, limit) =>
        exchange<ListRow>(pool, limit, statement),
      )
      if (page.kind !== 'answered') throw new Error(`the sandbox could not be listed: ${page.code}`)
      return pageOf(page.value)
    },
  }
}

/** The entry is booked, and from here on the database may be gone: only time passes. */
async function answer(
  entry: EntryRow,
  course: Extract<Course, { reaches: true }>,
  limit: TimeLimit,
): Promise<CallOutcome> {
  if (course.ending === 'error') return { kind: 'unclear', code: 'server_error' }
  if (course.ending === 'silence' || course.answerMs >= limit.ms) {
    await limit.over
    return TIMED_OUT
  }
  // Counted from when the call was sent, so the answer is due before the limit and needs no race with it.
  const leftMs = limit.startedAt + course.answerMs - performance.now()
  if (leftMs > 0) await sleep(leftMs)
  return entry.status === 'succeeded'
    ? { kind: 'succeeded', ...effected(entry) }
    : { kind: 'declined', providerRef: entry.ref }
}

const effected = (entry: EntryRow): Effected => ({
  providerRef: entry.ref,
  effect: entry.kind,
  amountCents: Number(entry.amount_cents),
  currency: entry.currency,
  orderId: entry.order_id,
})

function withoutAnswer(ending: Exclude<Exchange<never>, { kind: 'answered' }>): CallOutcome {
  return { kind: ending.kind === 'not_sent' ? 'not_executed' : 'unclear', code: ending.code }
}

function onlyRow<R>(rows: R[]): R {
  const [row] = rows
  if (!row) throw new Error('an upsert returned no row')
  return row
}
