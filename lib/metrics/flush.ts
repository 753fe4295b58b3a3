// The way from memory to the store: every two seconds, off the way of requests, one flush at a time, and every ten for
// the replays of many records. A crash loses what was counted since the last one and nothing else; a store that is away
// gets it later.
import { isUnavailable } from '../db/sqlstate'
import type { Db } from '../db/store'
import { countReplays } from '../idempotency/store/count-replays'
import { log } from '../log'
import { saveNumbers } from './save'
import type { Unsaved, UnsavedNumber, UnsavedReplays } from './unsaved'

const FLUSH_AFTER_MS = 2000
/** A statement of this many takes a fraction of a second; a quiet node never fills one. */
const NUMBERS_A_STATEMENT = 10_000
/** Fewer: each is a row of a live table that is locked until the statement ends. */
const REPLAYS_A_STATEMENT = 5000
/** Up to so many records cost next to nothing. More of them, which are replayed all the time, wait for a fifth turn. */
const FEW_REPLAYS = 100
const TURNS_OF_MANY = 5

export interface Flushing {
  /** What was counted before the call is saved when this ends, if the store can be asked. It never rejects. */
  flush(): Promise<void>
  /** Flushes for the last time. */
  close(): Promise<void>
}

export interface Flushed {
  numbers: Unsaved<UnsavedNumber>
  replays: Unsaved<UnsavedReplays>
  /** Brings in what was counted since the last time. */
  collect(): void
}

export function startFlushing(store: Db, { numbers, replays, collect }: Flushed): Flushing {
  let waiting = 0
  let last = Promise.resolve()
  let away = false
  let turns = 0

  function replaysAreDue(): boolean {
    turns++
    if (replays.size === 0) return false
    if (replays.size > FEW_REPLAYS && !replays.isHalfFull && turns < TURNS_OF_MANY) return false
    turns = 0
    return true
  }

  async function saveAll(withReplays: boolean): Promise<void> {
    collect()
    try {
      await save(numbers, NUMBERS_A_STATEMENT, (batch) => saveNumbers(store, batch))
      if (withReplays)
        await save(replays, REPLAYS_A_STATEMENT, (batch) =>
          countReplays(
            store,
            batch.map(({ recordId, count, lastMs }) => ({ recordId, count, ageMs: performance.now() - lastMs })),
          ),
        )
      away = false
    } catch (error) {
      // Said once for each time that the store goes away.
      if (!away) log().warn({ err: error }, 'numbers could not be saved; they are kept')
      away = true
    }
    const lost = numbers.takeLost()
    if (lost > 0) log().error({ lost }, 'more kinds of numbers were counted than can be kept without a store')
  }

  function flush(withReplays = true): Promise<void> {
    waiting++
    last = last
      .then(() => saveAll(withReplays))
      .finally(() => {
        waiting--
      })
    return last
  }

  const timer = setInterval(() => {
    // Also while the store keeps an earlier one waiting: what is counted now belongs to this minute.
    collect()
    if (waiting > 0) return
    const withReplays = replaysAreDue()
    if (withReplays || numbers.size > 0) flush(withReplays)
  }, FLUSH_AFTER_MS)
  timer.unref()

  return {
    flush: () => flush(),
    close() {
      clearInterval(timer)
      return flush()
    },
  }
}

async function save<Entry>(
  unsaved: Unsaved<Entry>,
  size: number,
  write: (batch: readonly Entry[]) => Promise<void>,
): Promise<void> {
  const taken = unsaved.take()
  for (let from = 0; from < taken.length; from += size) {
    try {
      await write(taken.slice(from, from + size).map(([, entry]) => entry))
    } catch (error) {
      if (!isUnavailable(error)) {
        // Sent again it would fail again, and hold up everything behind it.
        log().error({ err: error }, 'a batch of numbers was refused')
        continue
      }
      unsaved.putBack(taken.slice(from))
      throw error
    }
  }
}
