// Final answers in memory. A final answer never changes, it only ends: in due time, which is stored with it, or early,
// which the database announces. While the LISTEN connection is lost, or can't prove that everything announced until a
// moment ago has been heard, no cached response is used.
import { LRUCache } from 'lru-cache'
import type { Notifications } from '../db/notifications'
import type { StoredAnswer } from '../http/keyed'
import type { Parts } from '../http/respond'

/** The trigger records_move notifies here: with a record's id, or with nothing for all records. */
const CHANNEL = 'onceover_forget'
/** A ticket that was taken while the connection was not current: announcements may have been missed. */
const VOID = -1
/** An expired response is erased from memory within this time, as it is in the store. */
const ERASE_AFTER_MS = 60_000
/** What a response takes beside its texts, roughly, with the headers that are prepared at its first replay. */
const RESPONSE_BYTES = 1200

export interface CachedResponse {
  stored: StoredAnswer
  /** The body of the request, one character a byte. */
  request: string
  answer: Parts
  /** Made at its first replay. */
  prepared?: Prepared
}

export interface Prepared {
  /** All headers but the request's own id: names and values in turn. */
  head: readonly string[]
  /** Plain ASCII is sent as one byte a character, which takes Node less. */
  encoding: 'utf8' | 'latin1'
}

export interface ResponseCache {
  /** To be taken before the store is read: a response that may have ended since is not kept. */
  ticket(): number
  /** @param head identifies the request but for its body */
  keep(ticket: number, head: string, response: CachedResponse): void
  find(head: string): CachedResponse | undefined
  /** What the responses take, roughly. */
  bytes(): number
}

interface Limits {
  maxBytes: number
  eraseAfterMs?: number
}

export function openResponseCache(
  notifications: Notifications,
  { maxBytes, eraseAfterMs = ERASE_AFTER_MS }: Limits,
): ResponseCache {
  const responses = new LRUCache<string, CachedResponse>({
    maxSize: maxBytes,
    sizeCalculation: sizeOf,
    dispose({ stored }, head) {
      if (heads.get(stored.recordId) === head) heads.delete(stored.recordId)
    },
  })
  /** By record: the head of the request that was answered last. */
  const heads = new Map<string, string>()
  let forgotten = 0

  notifications.on(CHANNEL, (recordId) => {
    forgotten++
    if (recordId === '') responses.clear()
    else forget(recordId)
  })
  notifications.onLost(() => {
    forgotten++
    responses.clear()
  })
  setInterval(() => {
    for (const [head, { stored }] of responses.entries())
      if (stored.expiresAt.getTime() <= notifications.latestMs()) responses.delete(head)
  }, eraseAfterMs).unref()

  function forget(recordId: string): void {
    const head = heads.get(recordId)
    if (head !== undefined) responses.delete(head)
  }

  return {
    ticket: () => (notifications.isCurrent() ? forgotten : VOID),
    keep(ticket, head, response) {
      if (!notifications.isCurrent()) {
        notifications.listen()
        return
      }
      if (ticket !== forgotten) return
      const { recordId } = response.stored
      // A record has one response here, so that one announcement removes it.
      if (heads.get(recordId) !== head) forget(recordId)
      responses.set(head, response)
      // A response that is larger than the whole cache is not taken.
      if (responses.has(head)) heads.set(recordId, head)
    },
    find(head) {
      const nowMs = notifications.currentMs()
      if (nowMs === null) return undefined
      const found = responses.get(head)
      return found && nowMs < found.stored.expiresAt.getTime() ? found : undefined
    },
    bytes: () => responses.calculatedSize,
  }
}

/** A character is a byte or two, and UTF-8 never takes fewer. */
function sizeOf({ answer, request }: CachedResponse, head: string): number {
  return (
    RESPONSE_BYTES + 2 * (answer.body.length + JSON.stringify(answer.headers).length + request.length + head.length)
  )
}
