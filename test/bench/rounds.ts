// Rounds in which everybody takes a turn, one at a time: whatever else the machine does meanwhile disturbs all alike, and
// a ratio is always one of neighbours. Every other round goes backwards, so that nobody always follows the same rival.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from './contenders'
import { freshKeys, type Keys, placedKeys, press } from './load'
import type { Stand } from './stand'

const WARM_UP_SECONDS = 3
const WARM_UP_TURNS = 2
/** What a turn leaves behind (orders that were cut short, counts that are saved in batches) is over before the next. */
const PAUSE_MS = 500

export interface Trial {
  contender: Contender
  kind: 'fresh' | 'replay'
}

export interface RoundOptions {
  rounds: number
  seconds: number
  say: (line: string) => void
}

/** Orders a second, by round. */
export interface Rates {
  of(trial: Trial): number[]
  all(): [Trial, number[]][]
}

const nameOf = ({ contender, kind }: Trial) => `${contender} ${kind}`

export async function runRounds(stand: Stand, trials: Trial[], options: RoundOptions): Promise<Rates> {
  const { rounds, seconds, say } = options
  const unique = [...new Map(trials.map((trial) => [nameOf(trial), trial])).values()]
  const turns: { trial: Trial; rates: number[]; take(seconds: number): Promise<number> }[] = []
  for (const trial of unique) {
    say(`starting ${nameOf(trial)}`)
    const { url } = await stand.program(trial.contender)
    // Who always answers the same has nothing to remember.
    const replayed = trial.kind === 'replay' && !trial.contender.startsWith('constant') ? await placedKeys(url) : null
    const keysOf = (): Keys => replayed ?? freshKeys()
    const take = async (forSeconds: number) => {
      await sleep(PAUSE_MS)
      const { requests, seconds } = await press(url, keysOf(), forSeconds)
      return requests / seconds
    }
    for (let turn = 0; turn < WARM_UP_TURNS; turn++) await take(WARM_UP_SECONDS)
    turns.push({ trial, rates: [], take })
  }
  for (let round = 0; round < rounds; round++) {
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) turn.rates.push(await turn.take(seconds))
    say(`round ${round + 1} of ${rounds}: ${turns.map(({ rates }) => rates[round]!.toFixed(0)).join(' ')}`)
  }
  const rates = new Map(turns.map((turn) => [nameOf(turn.trial), turn.rates]))
  return {
    of: (trial) => rates.get(nameOf(trial))!,
    all: () => turns.map((turn) => [turn.trial, turn.rates]),
  }
}
