// A collector gathers items that arrive while two transactions are under way, and gives them to the next one: what many
// requests ask at one time is planned, checked and flushed once. An item that arrives before that goes at once.
import { StoreUnavailable } from '../../db/sqlstate'

/** More in one transaction gain nothing. */
const MOST = 64
/** While one commits, the next is written. */
const USUALLY_UNDER_WAY = 2
/** An item that has waited this long does not wait for a transaction that is held up, by a lock say, but for the next… */
const PATIENCE_MS = 50
/** …as long as no more than this are under way: the rest of the pool is for others. */
const MOST_UNDER_WAY = 4
/** After this long an item fails, as one does that waits for a connection. */
const LONGEST_WAIT_MS = 3000

interface Waiting<Item, Result> {
  item: Item
  key: string
  sinceMs: number
  resolve(result: Result): void
  reject(error: unknown): void
}

export interface Collecting<Item, Result> {
  /** Runs the items, all or none. The results are in the order of the items. */
  run(items: readonly Item[]): Promise<readonly Result[]>
  /**
   * What an item locks. A batch is in the order of its keys, so that its locks are. A key is in one batch at a time: items
   * that would wait for its lock must not take the places of all others.
   */
  keyOf(item: Item): string
  /** Two items of one id are never in one batch. */
  idOf(item: Item): string
  /** Whether an error says that nothing was done, and that it may be the fault of one item alone. */
  isRefusal(error: unknown): boolean
}

export class Collector<Item, Result> {
  readonly #collecting: Collecting<Item, Result>
  #waiting: Waiting<Item, Result>[] = []
  #underWay = 0
  readonly #keysUnderWay = new Set<string>()
  #due: NodeJS.Immediate | null = null
  #patience: NodeJS.Timeout | null = null
  #limit: NodeJS.Timeout | null = null

  constructor(collecting: Collecting<Item, Result>) {
    this.#collecting = collecting
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const key = this.#collecting.keyOf(item)
      this.#waiting.push({ item, key, sinceMs: performance.now(), resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    const [longest] = this.#waiting
    if (!longest) return
    this.#limit ??= setTimeout(() => this.#fail(), longest.sinceMs + LONGEST_WAIT_MS - performance.now()).unref()
    // After the requests that have arrived by now are read.
    if (this.#underWay < USUALLY_UNDER_WAY) this.#due ??= setImmediate(() => this.#run())
    else if (this.#underWay < MOST_UNDER_WAY) this.#patience ??= setTimeout(() => this.#run(), PATIENCE_MS)
  }

  #fail(): void {
    this.#limit = null
    const sinceMs = performance.now() - LONGEST_WAIT_MS
    const late = this.#waiting.filter((waiting) => waiting.sinceMs <= sinceMs)
    this.#waiting = this.#waiting.filter((waiting) => waiting.sinceMs > sinceMs)
    for (const { reject } of late) reject(new StoreUnavailable('too many wait for it'))
    this.#next()
  }

  async #run(): Promise<void> {
    clearImmediate(this.#due ?? undefined)
    clearTimeout(this.#patience ?? undefined)
    this.#due = null
    this.#patience = null
    const batch = this.#take()
    if (batch.length === 0) return
    this.#underWay++
    for (const { key } of batch) this.#keysUnderWay.add(key)
    this.#next()
    try {
      const results = await this.#collecting.run(batch.map(({ item }) => item))
      for (const [i, { resolve }] of batch.entries()) resolve(results[i]!)
    } catch (error) {
      if (batch.length > 1 && this.#collecting.isRefusal(error))
        await Promise.all(batch.map((one) => this.#runAlone(one)))
      else for (const { reject } of batch) reject(error)
    } finally {
      this.#underWay--
      for (const { key } of batch) this.#keysUnderWay.delete(key)
      this.#next()
    }
  }

  #runAlone({ item, resolve, reject }: Waiting<Item, Result>): Promise<void> {
    return this.#collecting.run([item]).then(([result]) => resolve(result!), reject)
  }

  /** Those that have waited longest, in the order of their keys. */
  #take(): Waiting<Item, Result>[] {
    const ids = new Set<string>()
    const taken: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    for (const one of this.#waiting) {
      const id = this.#collecting.idOf(one.item)
      if (taken.length === MOST || ids.has(id) || this.#keysUnderWay.has(one.key)) left.push(one)
      else {
        taken.push(one)
        ids.add(id)
      }
    }
    this.#waiting = left
    return taken.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  }
}
