// Who goes into which batch, and what one item can do to the others of its batch.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { isRefusal, StoreUnavailable } from '../../lib/db/sqlstate'
import { Collector } from '../../lib/idempotency/store/collector'
import { barrier } from '../support/boundary'

/** `a1` and `a2` are two items of the key `a`. */
const keyOf = (item: string) => item.replace(/\d+$/, '')
const idOf = (item: string) => item

/** Each batch waits until it is let go, and gives back its items in capitals. */
function held() {
  const batches: { items: readonly string[]; go: ReturnType<typeof barrier> }[] = []
  const collector = new Collector<string, string>({
    async run(items) {
      const go = barrier()
      batches.push({ items, go })
      await go.pass()
      return items.map((item) => item.toUpperCase())
    },
    keyOf,
    idOf,
    isRefusal,
  })
  return { batches, add: (item: string) => collector.add(item), itemsOf: () => batches.map(({ items }) => items) }
}

const arrived = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

describe('a collector', () => {
  it('runs items one by one while no batch is under way', async () => {
    const { batches, add, itemsOf } = held()
    for (const item of ['a', 'b']) {
      const added = add(item)
      await arrived()
      batches.at(-1)!.go.open()
      expect(await added).toBe(item.toUpperCase())
    }
    expect(itemsOf()).toEqual([['a'], ['b']])
  })

  it('runs all items that arrived during two batches in the next one, in the order of their keys', async () => {
    const { batches, add, itemsOf } = held()
    const first = add('first')
    await arrived()
    const second = add('second')
    await arrived()
    const others = ['c', 'a', 'b'].map(add)
    batches[0]!.go.open()
    await first
    await arrived()
    for (const { go } of batches) go.open()
    await second
    expect(await Promise.all(others)).toEqual(['C', 'A', 'B'])
    expect(itemsOf()).toEqual([['first'], ['second'], ['a', 'b', 'c']])
  })

  it('does not put two items of one id into one batch: the second follows the first', async () => {
    const { batches, add, itemsOf } = held()
    const both = [add('same'), add('same')]
    await arrived()
    batches[0]!.go.open()
    await both[0]
    await arrived()
    batches[1]!.go.open()
    await both[1]
    expect(itemsOf()).toEqual([['same'], ['same']])
  })

  it('whose batch is held up by a key runs items of other keys, and keeps all further items of that key for its end', async () => {
    const { batches, add, itemsOf } = held()
    const first = add('stuck1')
    await arrived()
    const others = ['stuck2', 'stuck3', 'stuck4', 'free'].map(add)
    await expect.poll(() => batches.length).toBe(2)
    batches[1]!.go.open()
    expect(await others[3]).toBe('FREE')
    batches[0]!.go.open()
    await first
    await arrived()
    batches[2]!.go.open()
    await Promise.all(others)
    expect(itemsOf()).toEqual([['stuck1'], ['free'], ['stuck2', 'stuck3', 'stuck4']])
  })

  it('puts at most 64 items into a batch, and runs all of 200', async () => {
    const sizes: number[] = []
    const collector = new Collector<string, string>({
      async run(items) {
        sizes.push(items.length)
        return items
      },
      keyOf,
      idOf,
      isRefusal,
    })
    const items = Array.from({ length: 200 }, (_, i) => `id-${i}-`)
    expect(await Promise.all(items.map((item) => collector.add(item)))).toEqual(items)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(200)
    expect(Math.max(...sizes)).toBe(64)
  })

  it('starts another batch when the one under way is held up', async () => {
    const { batches, add } = held()
    const stuck = add('stuck')
    await arrived()
    const other = add('other')
    await expect.poll(() => batches.length).toBe(2)
    batches[1]!.go.open()
    expect(await other).toBe('OTHER')
    batches[0]!.go.open()
    expect(await stuck).toBe('STUCK')
  })
})

describe('a collector whose batches do not end', () => {
  afterEach(() => vi.useRealTimers())

  it('starts four batches, and fails further items with STORE_UNAVAILABLE after three seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { batches, add, itemsOf } = held()
    const added: Promise<string>[] = []
    for (const item of ['a', 'b', 'c', 'd']) {
      added.push(add(item))
      await arrived()
      vi.advanceTimersByTime(50)
    }
    expect(itemsOf()).toEqual([['a'], ['b'], ['c'], ['d']])
    const failed: string[] = []
    const late = ['e', 'f'].map((item) => add(item).catch((error) => failed.push(`${item} ${error.code}`)))
    vi.advanceTimersByTime(2999)
    await arrived()
    expect(failed).toEqual([])
    vi.advanceTimersByTime(1)
    await Promise.all(late)
    expect(failed).toEqual(['e STORE_UNAVAILABLE', 'f STORE_UNAVAILABLE'])
    vi.useRealTimers()
    for (const { go } of batches) go.open()
    expect(await Promise.all(added)).toEqual(['A', 'B', 'C', 'D'])
  })
})

describe('a batch that fails', () => {
  const canceled = new StoreUnavailable(Object.assign(new Error('canceling statement'), { code: '57014' }))

  it.each([
    ['the database refuses', Object.assign(new Error('check'), { code: '23514' })],
    ['the server cancels', canceled],
  ])('by an item that %s fails for that item only: the others run by themselves', async (_, error) => {
    const collector = new Collector<string, string>({
      run: async (items) => (items.includes('bad') ? Promise.reject(error) : items),
      keyOf,
      idOf,
      isRefusal,
    })
    const results = await Promise.allSettled(['good', 'bad', 'also'].map((item) => collector.add(item)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('because the store is unreachable fails for all items, and does not run again', async () => {
    let runs = 0
    const collector = new Collector<string, string>({
      run() {
        runs++
        return Promise.reject(new StoreUnavailable('gone'))
      },
      keyOf,
      idOf,
      isRefusal,
    })
    const results = await Promise.allSettled(['a', 'b'].map((item) => collector.add(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(runs).toBe(1)
  })
})
