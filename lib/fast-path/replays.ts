// Whether a request is a replay that memory answers: the very bytes that were answered before, from a caller whose API
// key was accepted a moment ago. Any other request is the route's, which finds what is stored for it.
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Notifications } from '../db/notifications'
import type { KeyedAnswer } from '../http/keyed'
import { requestIdFrom } from '../http/request-id'
import type { Metrics } from '../metrics/metrics'
import { hashSecret } from '../secret'
import { type CachedResponse, openResponseCache, type Prepared } from './response-cache'

const CACHE_BYTES = 64 * 1024 * 1024
/**
 * The route's own look-up of an API key may be three seconds old. Both together must stay well below the five seconds
 * after which a revoked key or a disabled tenant is refused everywhere.
 */
const ACCEPTED_FOR_MS = 1000
const MAX_CALLERS = 10_000

/** The parts of a running node that this room uses. */
export interface FastPathServices {
  config: { maxRequestAgeMs: number | null }
  notifications: Notifications
  metrics: Pick<Metrics, 'replayed'>
}

/** What a request says before its body. */
export interface Head {
  /** A hash of the Authorization header: no API key is kept in the clear. */
  caller: string
  /** With path, Idempotency-Key and Content-Type. */
  text: string
  bodyLength: number
  requestId: string | null
}

/** An answer as Node's server takes it. */
export interface Replay {
  status: number
  head: string[]
  body: string
  encoding: Prepared['encoding']
}

export interface Replays {
  /** Undefined for a request that is never answered from memory. */
  headOf(request: IncomingMessage): Head | undefined
  /** Its body decides, and has to be read first. */
  mayFind(head: Head): boolean
  find(head: Head, body: Buffer, arrivedMs: number): Replay | undefined
  /** To be called before the route: keeps what the route answered, if it is stored. */
  begin(head: Head, arrivedMs: number): (body: Buffer, answer: KeyedAnswer) => void
}

export function openReplays({ config, notifications, metrics }: FastPathServices, maxBytes = CACHE_BYTES): Replays {
  const cache = openResponseCache(notifications, { maxBytes })
  /** Until when each caller counts as accepted, by the monotonic clock. */
  const callers = new LRUCache<string, number>({ max: MAX_CALLERS })
  const isAccepted = (caller: string) => performance.now() < (callers.get(caller) ?? 0)

  return {
    headOf({ headers, url }) {
      const { authorization, prefer, 'content-type': contentType, 'idempotency-key': key } = headers
      // A preference is answered with a header of its own, and the age of every request is checked.
      if (authorization === undefined || key === undefined || prefer !== undefined || config.maxRequestAgeMs !== null)
        return undefined
      const caller = hashSecret(authorization).toString('base64')
      return {
        caller,
        text: `${caller} ${url}\n${key}\n${contentType}`,
        bodyLength: Number(headers['content-length']),
        requestId: (headers['x-request-id'] as string | undefined) ?? null,
      }
    },
    mayFind: ({ text, bodyLength }) => cache.find(text)?.request.length === bodyLength,
    find({ caller, text, requestId }, body, arrivedMs) {
      const found = cache.find(text)
      if (found?.request !== body.toString('latin1') || !isAccepted(caller)) return undefined
      metrics.replayed(found.stored, arrivedMs)
      found.prepared ??= prepare(found)
      const { head, encoding } = found.prepared
      const { status, body: answered } = found.answer
      return { status, head: [...head, 'x-request-id', requestIdFrom(requestId)], body: answered, encoding }
    },
    begin({ caller, text }, arrivedMs) {
      const ticket = cache.ticket()
      return (body, { stored, status, headers, body: answered }) => {
        if (!stored) return
        // The route accepted the caller at some time after its request arrived.
        callers.set(caller, Math.max(arrivedMs + ACCEPTED_FOR_MS, callers.get(caller) ?? 0))
        cache.keep(ticket, text, {
          stored,
          request: body.toString('latin1'),
          answer: { status, headers, body: answered },
        })
      }
    },
  }
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length

/** Everything that is the same in each replay. Node sends head and body as one text, in the body's encoding. */
export function prepare({ answer }: Pick<CachedResponse, 'answer'>): Prepared {
  const { 'x-request-id': _, ...headers } = answer.headers
  const length = String(Buffer.byteLength(answer.body))
  const head = Object.entries({ ...headers, 'idempotent-replayed': 'true', 'content-length': length }).flat()
  return { head, encoding: isAscii([...head, answer.body].join('')) ? 'latin1' : 'utf8' }
}
