// Finished answers in memory, so that a replay asks nobody. A finished answer never changes; it only ends. Ends in its
// time are known here beforehand, early ones are told by the database on a line; and while that line is not there, or
// can't prove that it has told everything until a moment ago, nothing is answered from here.
import { LRUCache } from 'lru-cache'
import type { Notifications } from '../db/notifications'
import type { Answer } from './operation'

/** The trigger records_move speaks here: a record's id, or nothing for all of them. */
const CHANNEL = 'onceover_forget'
/** The ticket of one who asks while nobody listens: what is told meanwhile is not heard. */
const NONE = -1
/** What has run out is erased from memory after this long, as it is in the store. */
const ERASE_AFTER_MS = 60_000
/** What an entry takes besides its texts, roughly, with the headers that are made for it at its first replay. */
const ENTRY_BYTES = 1200
/** Which one was used last matters to the second: an order of all is not kept anew at every replay. */
const USE_STEP_MS = 1000

/** A request, as it came over the line: who sends it again need not be read again. */
export interface Sent {
  params: string
  contentType: string
  /** One character a byte. */
  body: string
}

export interface Finished {
  /** The record's id. */
  id: string
  tenantId: string
  endpoint: string
  key: string
  fingerprint: string
  answer: Answer
  createdAt: Date
  expiresAt: Date
  sent?: Sent
  /** Made with its first replay. */
  prepared?: Prepared
  /** When it was last moved to the end of those that make room, by the database's clock. */
  usedMs?: number
}

export interface Prepared {
  /** All headers but a request's own id: names and values in turn. */
  head: readonly string[]
  /** Whichever gives the body's bytes soonest: of plain ASCII, one byte a character. */
  encoding: 'utf8' | 'latin1'
}

export interface Answers {
  /** To be taken before the store is asked: what was told to be forgotten since is not kept. */
  ticket(): number
  keep(ticket: number, finished: Finished): void
  find(tenantId: string, endpoint: string, key: string): Finished | undefined
  /** What is kept takes so much, roughly. */
  bytes(): number
}

export interface Memory {
  maxBytes: number
  eraseAfterMs?: number
  useStepMs?: number
}

export function openAnswers(
  line: Notifications,
  { maxBytes, eraseAfterMs = ERASE_AFTER_MS, useStepMs = USE_STEP_MS }: Memory,
): Answers {
  const finished = new LRUCache<string, Finished>({
    maxSize: maxBytes,
    sizeCalculation: sizeOf,
    dispose: forgetKey,
  })
  /** By tenant, endpoint and key: a text of all three would have to be made for every request. */
  const keys = new Map<string, Map<string, Map<string, Finished>>>()
  setInterval(() => {
    for (const [id, { expiresAt }] of finished.entries())
      if (expiresAt.getTime() <= line.latestMs()) finished.delete(id)
  }, eraseAfterMs).unref()

  const keysOf = (tenantId: string, endpoint: string) => keys.get(tenantId)?.get(endpoint)

  function rememberKey(one: Finished): void {
    const { tenantId, endpoint, key } = one
    const known = keysOf(tenantId, endpoint)
    if (known) known.set(key, one)
    else keys.set(tenantId, new Map(keys.get(tenantId)).set(endpoint, new Map([[key, one]])))
  }

  /** Unless the key stands for another by now. */
  function forgetKey(one: Finished): void {
    const { tenantId, endpoint, key } = one
    const known = keysOf(tenantId, endpoint)
    if (known?.get(key) !== one) return
    known.delete(key)
    if (known.size === 0) keys.get(tenantId)!.delete(endpoint)
    if (keys.get(tenantId)!.size === 0) keys.delete(tenantId)
  }

  let forgotten = 0

  line.on(CHANNEL, (id) => {
    forgotten++
    if (id === '') finished.clear()
    else finished.delete(id)
  })
  line.onLost(() => {
    forgotten++
    finished.clear()
  })

  return {
    ticket: () => (line.isCurrent() ? forgotten : NONE),
    keep(ticket, one) {
      if (!line.isCurrent()) {
        line.listen()
        return
      }
      if (ticket !== forgotten) return
      const earlier = keysOf(one.tenantId, one.endpoint)?.get(one.key)
      if (earlier && earlier.id !== one.id) finished.delete(earlier.id)
      finished.set(one.id, one)
      // What is larger than all of the room was not taken.
      if (finished.has(one.id)) rememberKey(one)
    },
    find(tenantId, endpoint, key) {
      const found = keysOf(tenantId, endpoint)?.get(key)
      if (!found) return undefined
      const nowMs = line.currentMs()
      if (nowMs === null || nowMs >= found.expiresAt.getTime()) return undefined
      // Either way: the clock may be found to be earlier than was thought.
      if (Math.abs(nowMs - (found.usedMs ?? 0)) >= useStepMs) {
        found.usedMs = nowMs
        finished.get(found.id)
      }
      return found
    },
    bytes: () => finished.calculatedSize,
  }
}

/** A character is a byte or two, and UTF-8 never takes fewer. */
function sizeOf({ answer, sent, key, fingerprint }: Finished): number {
  const texts = answer.body.length + JSON.stringify(answer.headers).length + key.length + fingerprint.length
  return ENTRY_BYTES + 2 * (texts + (sent ? sent.body.length + sent.params.length + sent.contentType.length : 0))
}
