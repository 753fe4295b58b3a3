// The row about memory: what a node weighs after its garbage is collected, while it places 200 000 orders and then
// replays them a million times. What it remembers on purpose is bounded, and full before the first weight that counts.
import { once } from 'node:events'
import { freshKeys, press } from './load'
import type { Program } from './program'
import type { Row } from './row'

const ORDERS = 200_000
const REPLAYS = 1_000_000
const TURN_SECONDS = 10
/** Those under way when a turn ended were sent and not counted. */
const CUT_SHORT = 64
const MB = 2 ** 20

interface Weight {
  rss: number
  heapUsed: number
  external: number
}

export const memory: Row = {
  name: 'memory',
  what: 'memory of a node (after garbage collection) after 200 000 orders and a million replays',
  against: 'after 100 000 orders',
  reach: { atMost: 1.1 },
  onRequest: true,
  trials: [],
  contenders: ['oursWeighed'],
  async measure({ stand, say }) {
    const node = await stand.program('oursWeighed')
    const keys = freshKeys()
    let base: Weight | undefined
    for (let placed = 0; placed < ORDERS; ) {
      const { requests } = await press(node.url, { ...keys, first: placed }, TURN_SECONDS)
      placed += requests + CUT_SHORT
      const weight = await weigh(node)
      if (placed >= ORDERS / 2) base ??= weight
      say(`${placed} orders: ${told(weight)}`)
    }
    const full = await weigh(node)
    let last = full
    for (let replayed = 0; replayed < REPLAYS; say(`${replayed} replays: ${told(last)}`)) {
      // Each turn goes on where the last one ended: in the end every key had its replays.
      const load = await press(node.url, { ...keys, size: ORDERS, first: replayed % ORDERS }, TURN_SECONDS)
      replayed += load.requests
      last = await weigh(node)
    }
    await stand.stop('oursWeighed')
    const [anOrder, aReplay] = [(held(full) - held(base!)) / (ORDERS / 2), (held(last) - held(full)) / REPLAYS]
    return {
      ratios: [held(last) / held(base!)],
      detail: `${told(base!)}; then ${told(full)}; in the end ${told(last)}: ${anOrder.toFixed(0)} bytes an order, ${aReplay.toFixed(1)} a replay`,
    }
  },
}

async function weigh({ child }: Program): Promise<Weight> {
  const answer = once(child, 'message')
  child.send('weigh')
  const [weight] = await answer
  return weight
}

/** Buffers live beside the heap. */
const held = ({ heapUsed, external }: Weight): number => heapUsed + external

const told = ({ rss, heapUsed, external }: Weight): string =>
  `heap ${(heapUsed / MB).toFixed(0)} MB, external ${(external / MB).toFixed(0)} MB, resident ${(rss / MB).toFixed(0)} MB`
