// What was counted here and is not in the store yet. It is kept while the store is away, in bounded memory: when that
// is full, what comes new is lost to the store (not to Prometheus), and what was counted before stays.

/** Some 20 MB at most; a hundred busy tenants fill it in about an hour without a store. */
const MAX_NUMBERS = 100_000
/** Records replayed since the last flush. Further ones are counted for their tenant, not on the record. */
const MAX_REPLAYED = 50_000
/** Counts of one minute share an entry, however long they wait: they are booked where they belong. */
const SLOT_MS = 60_000

export interface UnsavedNumber {
  metric: string
  endpoint: string
  tenantId: string
  /** The upper bound of a histogram's bucket; empty for a counter. */
  bucket: string
  value: number
  /** When its series began to count what the store lacks, by the monotonic clock: at the flush only its age counts. */
  countedMs: number
}

export interface UnsavedReplays {
  recordId: string
  count: number
  lastMs: number
}

/** Entries by name: added to, taken all at once, and put back when they could not be saved. */
export class Unsaved<Entry> {
  readonly #entries = new Map<string, Entry>()
  readonly #limit: number
  readonly #merge: (into: Entry, more: Entry) => void
  #lost = 0

  constructor(limit: number, merge: (into: Entry, more: Entry) => void) {
    this.#limit = limit
    this.#merge = merge
  }

  get size(): number {
    return this.#entries.size
  }

  get isHalfFull(): boolean {
    return this.#entries.size >= this.#limit / 2
  }

  add(name: string, entry: Entry): void {
    const known = this.#entries.get(name)
    if (known) this.#merge(known, entry)
    else if (this.#entries.size < this.#limit) this.#entries.set(name, entry)
    else this.#lost++
  }

  take(): [string, Entry][] {
    const taken = [...this.#entries]
    this.#entries.clear()
    return taken
  }

  putBack(taken: readonly [string, Entry][]): void {
    for (const [name, entry] of taken) this.add(name, entry)
  }

  /** How many did not fit since the last call. */
  takeLost(): number {
    const lost = this.#lost
    this.#lost = 0
    return lost
  }
}

export const unsavedNumbers = (limit = MAX_NUMBERS): Unsaved<UnsavedNumber> =>
  new Unsaved(limit, (into, more) => {
    into.value += more.value
    into.countedMs = Math.min(into.countedMs, more.countedMs)
  })

export const nameOfNumber = (n: UnsavedNumber): string =>
  `${n.metric}\n${n.endpoint}\n${n.tenantId}\n${n.bucket}\n${Math.floor(n.countedMs / SLOT_MS)}`

export const unsavedReplays = (limit = MAX_REPLAYED): Unsaved<UnsavedReplays> =>
  new Unsaved(limit, (into, more) => {
    into.count += more.count
    into.lastMs = Math.max(into.lastMs, more.lastMs)
  })
