// The crash matrix with one kind of provider. Its cells are discovered, its table is generated, and the table has to be
// the one in docs/crash-matrix.md.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { STEPS } from '../../../lib/idempotency/boundary'
import { coverPairs } from '../../support/covering-array'
import { cloneDatabase, type TestDatabase } from '../../support/database'
import { startNode, type TestNode } from '../../support/node'
import { type Discovered, discover, type Place } from './boundaries'
import { breakAll, FAULTS, isPossible } from './faults'
import { FLOWS } from './flows'
import { chunksOf, type Held, holdAll, JOBS_AT_A_TIME, killWith } from './kill'
import { outcomeOf } from './outcome'
import { committedRows, type Row, rowOf, writeRows } from './table'
import { FINDING_OUT, openEyes, STILL, type World } from './world'

const MINUTE = 60_000
const PROVIDERS = ['with keys', 'without keys']
/** Flows at a time in the discovery: fewer than a node has connections, so that nobody waits for somebody else's. */
const DISCOVERED_AT_A_TIME = 8
const TELLING = { NODE_OPTIONS: `--import ${path.resolve(import.meta.dirname, '../../support/statements.mjs')}` }

export function crashMatrix(provider: { honoursKeys: boolean }) {
  const name = provider.honoursKeys ? 'with keys' : 'without keys'
  const env = { SANDBOX_IDEMPOTENT: String(provider.honoursKeys) }

  describe(`a node is killed at every statement boundary, provider ${name}`, () => {
    let database: TestDatabase
    let discovered: Discovered
    let rows: Row[]
    let discrepancies: unknown[]
    const nodes: TestNode[] = []
    const open = async (settings: Record<string, string>) => {
      const node = await startNode({ databaseUrl: database.url, env: { ...settings, ...env } })
      nodes.push(node)
      return node
    }

    beforeAll(async () => {
      database = await cloneDatabase()
      const db = openEyes(database.url)
      const server = await open({ ...STILL, ...TELLING, WORKER: 'off' })
      let worker = await open({ ...STILL, ...TELLING })
      const world: World = { server, worker: () => worker, db }
      try {
        await Promise.all([server.tellSteps(), worker.tellSteps()])
        discovered = await discoverAll(world)
        const held: Held[] = []
        const onWorker = discovered.places.filter(({ by }) => by === 'worker')
        for (const places of chunksOf(onWorker, JOBS_AT_A_TIME)) {
          if (held.length > 0) worker = await open(STILL)
          const heldNow = await holdAll(places, world)
          await killWith(worker, heldNow)
          held.push(...heldNow)
        }
        worker = await open(STILL)
        const onServer = await holdAll(
          discovered.places.filter(({ by }) => by === 'server'),
          world,
        )
        await killWith(server, onServer)
        await worker.kill()
        const survivor = await open(FINDING_OUT)
        rows = await Promise.all(
          [...held, ...onServer].map(async ({ place, play }) =>
            rowOf(place, 'killed', name, await outcomeOf(play, survivor.url, db)),
          ),
        )
        discrepancies = await db.discrepancies()
      } finally {
        await db.close()
      }
    }, 5 * MINUTE)
    afterAll(async () => {
      await Promise.all(nodes.map((node) => node.kill()))
      await database?.drop()
    })

    it('passes a step between any two statements', () => {
      expect(discovered.gaps).toEqual([])
    })

    it('passes every step there is, but that of a phase which no endpoint has, and the sweeper giving out a lost job again', () => {
      const passed = new Set(discovered.places.map(({ step }) => step))
      expect(STEPS.filter((step) => !passed.has(step))).toEqual(['advanced', 'requeued'])
    })

    it('ends each as the table says: one answer, charged once at most, no way but a legal one', async () => {
      if (process.env.CRASH_MATRIX === 'write') await writeRows(name, 'killed', rows)
      expect(rows.filter(({ outcome }) => outcome.includes('✗'))).toEqual([])
      expect(rows).toEqual(await committedRows(name, 'killed'))
      expect(discrepancies).toEqual([])
    })

    it('ends each as the table says when something else breaks there', { timeout: 5 * MINUTE }, async () => {
      const all = discovered.places.flatMap((place) =>
        FAULTS.flatMap((fault) => PROVIDERS.map((provider) => ({ place, fault, provider }))),
      )
      const chosen = coverPairs(all.filter(isPossible), ({ place, fault, provider }) => ({
        boundary: place.step,
        kind: place.flow.kind,
        fault,
        provider,
      })).filter((cell) => cell.provider === name)
      const outcomes = await breakAll(chosen, env)
      const broken = chosen.map(({ place, fault }, i) => rowOf(place, fault, name, outcomes[i]!))
      if (process.env.CRASH_MATRIX === 'write') await writeRows(name, 'broken', broken)
      expect(broken.filter(({ outcome }) => outcome.includes('✗'))).toEqual([])
      expect(broken).toEqual(await committedRows(name, 'broken'))
    })
  })
}

async function discoverAll(world: World): Promise<Discovered> {
  const all: Discovered[] = []
  for (const flows of chunksOf(FLOWS, DISCOVERED_AT_A_TIME))
    all.push(...(await Promise.all(flows.map((flow) => discover(flow, world)))))
  const places: Place[] = all.flatMap(({ places }) => places)
  return { places, gaps: all.flatMap(({ gaps }) => gaps) }
}
