// Nodes die of SIGKILL, each with as many requests as can be held at once, every one at its own boundary. All that was
// asked of them is then asked of a node that comes after.
import type { TestNode } from '../../support/node'
import { begin, type Place } from './boundaries'
import { newPlay, type Play, prepare, requestIdOf } from './play'
import type { World } from './world'

/** A worker runs so many jobs at a time (lib/jobs/worker.ts). */
export const JOBS_AT_A_TIME = 10

/** So many are on their way to their place: more would measure the machine. Those who are held cost nothing. */
const MOVING_AT_A_TIME = 24
const MOST_TRIES = 5

export interface Held {
  place: Place
  play: Play
  /** Ends when its client has nothing more to do, also if that is because its node is gone. */
  ended: Promise<void>
}

/** Plays each flow up to its place and waits until all are held there. */
export async function holdAll(places: readonly Place[], world: World): Promise<Held[]> {
  const held: Held[] = []
  const left = [...places.entries()]
  const mover = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [i, place] = next
      held[i] = await holdOne(place, world)
    }
  }
  await Promise.all(Array.from({ length: MOVING_AT_A_TIME }, mover))
  return held
}

/** On a busy machine a call may take longer than it may, and the flow goes another way: then it is played again. */
async function holdOne(place: Place, world: World): Promise<Held> {
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const play = newPlay(place.flow)
    await prepare(play, world.server)
    const held = await tryToHold(place, play, world)
    if (held) return held
  }
  throw new Error(`never came to ${wordsOf(place)}`)
}

async function tryToHold(place: Place, play: Play, world: World): Promise<Held | null> {
  const node = nodeOf(place, world)
  const id = requestIdOf(play, place.leg)
  const hold = () => node.holdRequest(id, place.step, place.pass)
  const isPaused = place.flow.pause?.leg === place.leg
  if (!isPaused) await hold()
  // Passes are counted from the pause on: what comes before is another flow's.
  const ended = begin(play, world, [], () => (isPaused ? hold() : undefined)).catch(() => {})
  const isHeld = await Promise.race([node.heldRequest(id).then(() => true), ended.then(() => false)])
  return isHeld ? { place, play, ended } : null
}

export const nodeOf = (place: Place, world: World): TestNode => (place.by === 'worker' ? world.worker() : world.server)

const wordsOf = ({ flow, leg, step, pass }: Place) => `${flow.kind}, ${flow.name}: ${leg}, ${step} ${pass}`

export async function killWith(node: TestNode, held: readonly Held[]): Promise<void> {
  await node.kill()
  for (const { play } of held) play.isOver = true
  await Promise.all(held.map(({ ended }) => ended))
}

export function* chunksOf<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let i = 0; i < all.length; i += size) yield all.slice(i, i + size)
}
