// Where a flow may break: it is played once on healthy nodes that tell every statement they send and every step they
// pass. A boundary is a step that is passed; between any two statements there has to be one, or nobody could break it.
import { isDeepStrictEqual } from 'node:util'
import type { Step } from '../../../lib/idempotency/boundary'
import type { Told } from '../../support/node'
import type { Flow } from './flows'
import { ask, deliver, leaseEnds, newPlay, oversleep, type Play, playOut, prepare, requestIdOf } from './play'
import type { World } from './world'

export interface Place {
  flow: Flow
  leg: string
  step: Step
  /** How often the leg has passed the step by then. */
  pass: number
  by: 'server' | 'worker'
  /** The provider has booked something by then, and may tell. */
  isBooked: boolean
}

export interface Discovered {
  places: Place[]
  /** Two statements with no step between them. */
  gaps: string[]
}

/** On a busy machine a play may time out where it should not: what two agree on is how the flow goes. */
const MOST_PLAYS = 6

export async function discover(flow: Flow, world: World): Promise<Discovered> {
  const [one, other] = await Promise.all([discoverOnce(flow, world), discoverOnce(flow, world)])
  if (isDeepStrictEqual(one, other)) return one
  const plays = [one, other]
  while (plays.length < MOST_PLAYS) {
    const next = await discoverOnce(flow, world)
    if (plays.some((earlier) => isDeepStrictEqual(earlier, next))) return next
    plays.push(next)
  }
  throw new Error(`${flow.kind}, ${flow.name}: goes another way each time: ${plays.map(shortOf).join('; ')}`)
}

const shortOf = ({ places, gaps }: Discovered) =>
  [...places.map(({ leg, by, step }) => `${leg} ${by} ${step}`), ...gaps].join(', ')

async function discoverOnce(flow: Flow, world: World): Promise<Discovered> {
  const play = newPlay(flow)
  await prepare(play, world.server)
  const legs: string[] = []
  let before = 0
  await begin(play, world, legs, () => {
    before = world.server.told(requestIdOf(play, flow.pause!.leg)).length
  })
  const places: Place[] = []
  const gaps: string[] = []
  // What is booked late may not be told of early.
  let isBooked = flow.pause !== undefined && flow.behaviour === 'ok'
  // A leg before the pause breaks in the flow without one.
  const own = flow.pause ? legs.slice(Math.max(0, legs.indexOf(flow.pause.leg))) : legs
  for (const leg of own) {
    for (const by of ['server', 'worker'] as const) {
      const node = by === 'server' ? world.server : world.worker()
      const told = node.told(requestIdOf(play, leg))
      const trail = by === 'server' && leg === flow.pause?.leg ? told.slice(before) : told
      places.push(...placesOf(trail, isBooked).map((place) => ({ flow, leg, by, ...place })))
      isBooked ||= told.some(books)
      gaps.push(...gapsOf(told).map((gap) => `${flow.kind}, ${flow.name}, ${leg}: ${gap}`))
    }
  }
  return { places, gaps }
}

/** Played to its end, and paused where the flow says so. */
export async function begin(
  play: Play,
  world: World,
  legs: string[] = [],
  paused: () => Promise<void> | void = () => {},
): Promise<void> {
  const { pause } = play.flow
  if (!pause) return playOut(play, world, legs)
  const id = requestIdOf(play, pause.leg)
  await world.server.holdRequest(id, pause.step)
  const ended = pause.what === 'left' ? ask(play, world.server.url, pause.leg) : playOut(play, world, legs)
  ended.catch(() => {})
  await world.server.heldRequest(id)
  if (pause.what === 'overslept') await oversleep(play, world)
  else await deliver(play, world, 'told')
  if (pause.what === 'left') {
    await leaseEnds()
    return playOut(play, world, legs, 2)
  }
  await paused()
  await world.server.letGo(id)
  await ended
}

const books = (told: Told) => 'statement' in told && /INSERT INTO sandbox\.charges/.test(told.statement)

function placesOf(trail: readonly Told[], isBooked: boolean): Pick<Place, 'step' | 'pass' | 'isBooked'>[] {
  const passes = new Map<Step, number>()
  return trail.flatMap((told) => {
    isBooked ||= books(told)
    if (!('step' in told)) return []
    const pass = (passes.get(told.step) ?? 0) + 1
    passes.set(told.step, pass)
    return [{ step: told.step, pass, isBooked }]
  })
}

const POOLS = ['onceover', 'onceover-console', 'onceover-sandbox']
/**
 * No part of the work on a record: what is counted for a tenant now and then, in whoever's name, and the mark that a
 * person asks about it.
 */
const BESIDE = /\btenant_usage\b|\bSET asking_until\b/

/** From the first step to the last: what comes before and after is no part of the work on a record. */
function gapsOf(trail: readonly Told[]): string[] {
  const steps = trail.flatMap((told, i) => ('step' in told ? [i] : []))
  const gaps: string[] = []
  let last: Extract<Told, { statement: string }> | null = null
  for (const told of trail.slice(steps[0], (steps.at(-1) ?? -1) + 1)) {
    if ('step' in told) last = null
    else if (POOLS.includes(told.pool) && !BESIDE.test(told.statement)) {
      // What the provider does on its side, in however many statements, is one call.
      const sameCall = last?.pool === 'onceover-sandbox' && told.pool === 'onceover-sandbox'
      if (last && !sameCall) gaps.push(`${short(last.statement)} | ${short(told.statement)}`)
      last = told
    }
  }
  return gaps
}

const short = (statement: string) => statement.replace(/\s+/g, ' ').trim().slice(0, 80)
