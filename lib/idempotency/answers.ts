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
  /** All headers of a replay but its own id, made with the first: names and values in turn. */
  head?: readonly string[]
}

export interface Answers {
  /** To be taken before the store is asked: what was told to be forgotten since is not kept. */
  ticket(): number
  keep(ticket: number, finished: Finished): void
  find(tenantId: string, endpoint: string, key: string): Finished | undefined
  /** What is kept takes so much, roughly. */
  bytes(): number
}

export function openAnswers(
  line: Notifications,
  { maxBytes, eraseAfterMs = ERASE_AFTER_MS }: { maxBytes: number; eraseAfterMs?: number },
): Answers {
  const names = new Map<string, string>()
  const finished = new LRUCache<string, Finished>({
    maxSize: maxBytes,
    sizeCalculation: sizeOf,
    dispose: ({ id }) => names.delete(id),
  })
  setInterval(() => {
    for (const [name, { expiresAt }] of finished.entries())
      if (expiresAt.getTime() <= line.latestMs()) finished.delete(name)
  }, eraseAfterMs).unref()
  let forgotten = 0

  line.on(CHANNEL, (id) => {
    forgotten++
    if (id === '') finished.clear()
    else finished.delete(names.get(id) ?? '')
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
      const name = nameOf(one.tenantId, one.endpoint, one.key)
      finished.set(name, one)
      // What is larger than all of the room was not taken.
      if (finished.has(name)) names.set(one.id, name)
    },
    find(tenantId, endpoint, key) {
      const found = finished.get(nameOf(tenantId, endpoint, key))
      if (!found) return undefined
      const nowMs = line.currentMs()
      return nowMs !== null && nowMs < found.expiresAt.getTime() ? found : undefined
    },
    bytes: () => finished.calculatedSize,
  }
}

const nameOf = (tenantId: string, endpoint: string, key: string): string => `${tenantId} ${endpoint} ${key}`

/** A character is a byte or two, and UTF-8 never takes fewer. */
function sizeOf({ answer, sent, key, fingerprint }: Finished): number {
  const texts = answer.body.length + JSON.stringify(answer.headers).length + key.length + fingerprint.length
  return ENTRY_BYTES + 2 * (texts + (sent ? sent.body.length + sent.params.length + sent.contentType.length : 0))
}
