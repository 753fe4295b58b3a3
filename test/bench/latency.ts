// The row about p99: both at one rate, half of the most that ours can do, in turns.
import { hold } from './load'
import type { Trial } from './rounds'
import type { Row } from './row'
import { median, spread } from './statistics'

const OURS: Trial = { contender: 'ours', kind: 'fresh' }
const UNGUARDED: Trial = { contender: 'unguarded', kind: 'fresh' }
/** A p99 needs a few thousand orders. */
const SECONDS_FACTOR = 2

export const latency: Row = {
  name: 'p99',
  what: 'p99 of a fresh order at half of the top load',
  against: "the unguarded order's at the same rate",
  reach: { atMost: 1.5 },
  // The rates that it is half of, and a warm contender.
  trials: [OURS, UNGUARDED],
  async measure({ stand, rates, rounds, seconds, say }) {
    const rate = Math.round(median(rates.of(OURS)) / 2)
    const ours: number[] = []
    const unguarded: number[] = []
    for (let round = 0; round < rounds; round++) {
      for (const [{ contender }, p99s] of [
        [OURS, ours],
        [UNGUARDED, unguarded],
      ] as const) {
        const { url } = await stand.program(contender)
        p99s.push((await hold(url, rate, seconds * SECONDS_FACTOR)).p99Ms)
      }
      say(`p99, round ${round + 1} of ${rounds}: ${ours[round]!.toFixed(1)} ms, ${unguarded[round]!.toFixed(1)} ms`)
    }
    return {
      ratios: ours.map((p99, round) => p99 / unguarded[round]!),
      detail: `${spread(ours, 1)} ms against ${spread(unguarded, 1)} ms at ${rate} orders a second`,
    }
  },
}
