// Everything but death: each flow is held at its boundary, something is taken away or added, and it goes on. What it
// could not finish is found out by a node that comes after.
import { createClient, freshKey, orderBody, until } from '../../support/client'
import { openLine } from '../../support/line'
import { startNode, type TestNode } from '../../support/node'
import { startMigratedPostgres } from '../../support/postgres'
import type { Place } from './boundaries'
import { chunksOf, type Held, holdAll, JOBS_AT_A_TIME, nodeOf } from './kill'
import { outcomeOf } from './outcome'
import { deliver, isFinal, leaseEnds, requestIdOf, sweep } from './play'
import { FINDING_OUT, openEyes, STILL, type World } from './world'

export const FAULTS = ['connections refused', 'database restarted', 'answer lost', 'late', 'webhook twice'] as const
type Fault = (typeof FAULTS)[number]

export interface FaultCell {
  place: Place
  fault: Fault
}

/** How long the database can't be reached, or its answers do not arrive. */
const OUTAGE_MS = 300

/** Whether it can happen there at all. */
export const isPossible = ({ place, fault }: FaultCell) =>
  fault !== 'webhook twice' || (place.isBooked && !place.flow.behaviour.startsWith('late'))

/** The outcome of each cell, without its way: how far an attempt came before it noticed is a matter of moments. */
export async function breakAll(cells: readonly FaultCell[], env: Record<string, string>): Promise<string[]> {
  const [postgres, databaseUrl] = await startMigratedPostgres()
  const line = await openLine(databaseUrl)
  const db = openEyes(databaseUrl)
  const server = await startNode({ databaseUrl: line.url, env: { ...STILL, ...env, WORKER: 'off' } })
  const worker = await startNode({ databaseUrl: line.url, env: { ...STILL, ...env } })
  const world: World = { server, worker: () => worker, db }
  const during: Record<Fault, (held: readonly Held[]) => Promise<void>> = {
    async 'connections refused'(held) {
      line.refuse()
      await letGo(held, world)
      await sleep(OUTAGE_MS)
      await line.heal()
    },
    async 'database restarted'(held) {
      await postgres.stop({ mode: 'immediate' })
      await postgres.start()
      await letGo(held, world)
    },
    async 'answer lost'(held) {
      line.swallow('down')
      await letGo(held, world)
      await sleep(OUTAGE_MS)
      await line.heal()
    },
    async late(held) {
      await leaseEnds()
      await sweep(world)
      await letGo(held, world)
    },
    async 'webhook twice'(held) {
      await Promise.all(held.map(({ play }) => deliver(play, world, 'twice', 2)))
      await letGo(held, world)
    },
  }
  try {
    const broken = new Map<FaultCell, Held>()
    // A database that comes back makes for a new engine of jobs: last.
    for (const fault of [
      'webhook twice',
      'late',
      'answer lost',
      'connections refused',
      'database restarted',
    ] as const) {
      const ofFault = cells.filter((cell) => cell.fault === fault)
      for (const batch of batchesOf(ofFault)) {
        const held = await holdAll(
          batch.map(({ place }) => place),
          world,
        )
        for (const { play } of held) play.isOver = true
        await during[fault](held)
        await Promise.all(held.map(({ ended }) => ended))
        await db.quiet()
        await Promise.all([server, worker].map(isWell))
        batch.forEach((cell, i) => {
          broken.set(cell, held[i]!)
        })
      }
    }
    const survivor = await startNode({ databaseUrl, env: { ...FINDING_OUT, ...env } })
    try {
      return await Promise.all(cells.map((cell) => outcomeOf(broken.get(cell)!.play, survivor.url, db, 'without way')))
    } finally {
      await survivor.kill()
    }
  } finally {
    await Promise.all([server.kill(), worker.kill(), db.close()])
    await line.close()
    await postgres.remove()
  }
}

/** No more jobs at a time than a worker takes. */
function batchesOf(cells: readonly FaultCell[]): FaultCell[][] {
  const onServer = cells.filter(({ place }) => place.by === 'server')
  const onWorker = [
    ...chunksOf(
      cells.filter(({ place }) => place.by === 'worker'),
      JOBS_AT_A_TIME,
    ),
  ]
  return [[...onServer, ...(onWorker[0] ?? [])], ...onWorker.slice(1)].filter((batch) => batch.length > 0)
}

/** A node that saw its store fail asks it again only after a while. */
const isWell = (node: TestNode) => until(() => createClient(node.url).order(freshKey(), orderBody()), isFinal)

const letGo = (held: readonly Held[], world: World) =>
  Promise.all(held.map(({ place, play }) => nodeOf(place, world).letGo(requestIdOf(play, place.leg)))).then(() => {})

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
