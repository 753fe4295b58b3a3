// Something breaks every few seconds, by a schedule that chance made and the seed repeats, and is well again some
// seconds later. How long it takes until an order goes through where it broke is measured from that moment.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fleet, Member } from '../support/fleet'
import type { Random } from './random'

const KINDS = {
  'node killed': 3,
  'database restarted': 2,
  'line cut': 3,
  'line refused': 2,
  'line silent': 2,
  'line slow': 2,
  'line forgotten': 1,
}
export type FaultKind = keyof typeof KINDS
export const FAULT_KINDS = Object.keys(KINDS) as readonly FaultKind[]

const GAP_MS = [4000, 9000] as const
const LASTS_MS = [1000, 4000] as const
const SLOW_MS = 60
/** What is answered this long after a fault is over is answered in quiet time: the circuits have closed by then. */
const AFTERMATH_MS = 4000

interface Fault {
  kind: FaultKind
  endedAt: number
  /** Where it broke. */
  members: readonly Member[]
  /** From its end to the first order that was asked for and went through there. */
  recoveredMs: number | null
}

export type Faults = ReturnType<typeof startFaults>

export function startFaults(fleet: Fleet, random: Random, spared: Member) {
  const faults: Fault[] = []
  const stopping = new AbortController()
  const irreparable: string[] = []
  let underWay = false
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})

  async function strike(kind: FaultKind): Promise<readonly Member[]> {
    const lasts = () => pause(random.between(...LASTS_MS))
    if (kind === 'database restarted') {
      await fleet.restartDatabase()
      return fleet.members
    }
    if (kind === 'node killed') {
      const member = random.pick(fleet.members.filter((one) => one !== spared))
      await member.kill()
      await lasts()
      await member.start()
      return [member]
    }
    const member = random.pick(fleet.members)
    const { line } = member
    if (kind === 'line cut') line.cut()
    else if (kind === 'line refused') line.refuse()
    else if (kind === 'line silent') line.silence('up', 'down')
    else if (kind === 'line slow') line.delay(SLOW_MS)
    else line.forget()
    await lasts()
    await line.heal()
    return [member]
  }

  const running = (async () => {
    while (irreparable.length === 0) {
      await pause(random.between(...GAP_MS))
      if (stopping.signal.aborted) return
      const kind = random.weighted(KINDS)
      underWay = true
      try {
        const members = await strike(kind)
        faults.push({ kind, members, endedAt: performance.now(), recoveredMs: null })
      } catch (error) {
        irreparable.push(`${kind}: ${(error as Error).message}`)
      }
      underWay = false
    }
  })()

  return {
    faults,
    /** What did not come back: after it nothing more is broken. */
    irreparable,
    isQuiet: (at: number) => !underWay && at - (faults.at(-1)?.endedAt ?? Number.NEGATIVE_INFINITY) > AFTERMATH_MS,
    succeeded(member: Member, askedAt: number, ms: number) {
      for (const fault of faults.slice(-3))
        if (fault.recoveredMs === null && fault.members.includes(member) && askedAt >= fault.endedAt)
          fault.recoveredMs = askedAt + ms - fault.endedAt
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
