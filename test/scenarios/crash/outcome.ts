// What became of a cell, in words that are the same in every run: the final answer, how often money moved, and the way
// through the states. Whatever breaks a promise is said in the same line, so no table can hide it.
import { MOVES, type State } from '../../../lib/idempotency/states'
import { contradictions } from '../../support/history'
import { ask, isFinal, type Play } from './play'
import type { Eyes, RecordRow } from './world'

/** Nothing stays stuck longer: a lease, a settle window, a reconciler that died with its hold of 10 s, a busy machine. */
const STUCK_MS = 90_000
const RETRY_MS = 700
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The client goes on asking, of a node that lives, until it has the final answer; then once more. */
export async function outcomeOf(play: Play, url: string, db: Eyes, way?: 'without way'): Promise<string> {
  const giveUpAt = performance.now() + STUCK_MS
  for (let turn = 1; ; turn++) {
    const answer = await ask(play, url, `again${turn}`)
    if (isFinal(answer)) break
    if (performance.now() > giveUpAt) return `stuck at ${answer.status} ✗`
    await sleep(RETRY_MS)
  }
  const replay = await ask(play, url, 'replay')
  const record = (await db.record(play.key))!
  const booked = await db.booked(record.id)
  const moved = booked.filter(({ status }) => status === 'succeeded').length
  const ledger = await db.ledger(record.id)
  const succeeded = replay.status === 201
  const broken = [
    ...contradictions(play.calls),
    ...(replay.headers['idempotent-replayed'] === 'true' ? [] : ['the last answer is no replay']),
    ...(moved === (succeeded ? 1 : 0) ? [] : [`${moved} charges`]),
    ...(ledger.filter((status) => status === 'succeeded').length === (succeeded ? 1 : 0) ? [] : ['the ledger differs']),
    ...(ledger.length <= 1 ? [] : [`${ledger.length} ledger rows`]),
    ...(record.state === 'completed' ? [] : [`it is ${record.state}`]),
    ...illegalMoves(record),
  ]
  const money = moved === 1 ? '1 charge' : `${moved} charges`
  const told = [replay.status, money, ...(way ? [] : [wayOf(record).join(' → ')])].join(' · ')
  return [told, ...broken.map((why) => `✗ ${why}`)].join(' ')
}

const ARRIVES: Record<string, State> = {
  accepted: 'pending',
  reserved: 'in_progress',
  claimed: 'in_progress',
  settled: 'completed',
  abandoned: 'completed',
  released: 'failed_retryable',
  outcome_unknown: 'unknown',
  // Orders and refunds may have called from their reservation on.
  lease_over: 'unknown',
}

const wayOf = ({ timeline }: RecordRow): State[] => timeline.flatMap(({ event }) => ARRIVES[event] ?? [])

function illegalMoves(record: RecordRow): string[] {
  const way = wayOf(record)
  return way.slice(1).flatMap((to, i) => (MOVES[way[i]!].includes(to) ? [] : [`${way[i]} → ${to}`]))
}
