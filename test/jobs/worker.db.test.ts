// Whatever happens to the job engine's own connections, jobs are run again once the database can be asked.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { migrateJobs, startWorker } from '../../lib/jobs/worker'
import { log } from '../../lib/log'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { type Line, openLine } from '../support/line'
import { runSql } from '../support/tenant'

/** Twice what the engine is given to find its feet, and a busy machine. */
const SOON = { timeout: 25_000, interval: 50 }
const A_WHILE = 40_000
/** On a connection that does not come. */
const GIVES_UP_MS = 3500
const GAVE_UP = 'the job worker gave up and is begun anew'
/** What is left of those that were given up is waited for five seconds; and a busy machine. */
const STOPS_WITHIN_MS = 9000

let database: TestDatabase
let line: Line
let worker: Awaited<ReturnType<typeof startWorker>>
/** What the job named so does, after it was noted that it runs. */
let during: Record<string, () => unknown>
let ran: string[]
beforeAll(async () => {
  database = await cloneDatabase()
  await migrateJobs(database.url)
})
afterAll(() => database.drop())
beforeEach(async () => {
  ran = []
  during = {}
  line = await openLine(database.url)
  worker = await startWorker(line.url, {
    note: async (payload) => {
      const { name } = payload as { name: string }
      ran.push(name)
      await during[name]?.()
    },
  })
})
afterEach(async () => {
  vi.restoreAllMocks()
  await line.heal()
  await worker.stop()
  await line.close()
})

const enqueue = (name: string) =>
  runSql(database.url, `SELECT graphile_worker.add_job('note', json_build_object('name', $1::text))`, [name])

it('the worker runs jobs after its first connections got no answer', { timeout: A_WHILE }, async () => {
  line.silence('up', 'down')
  await sleep(GIVES_UP_MS)
  await line.heal()
  await enqueue('first')
  await vi.waitFor(() => expect(ran).toContain('first'), SOON)
})

it('the worker runs jobs after the end of one job could not be stored', { timeout: A_WHILE }, async () => {
  during.unwritten = () => {
    line.cut()
    line.silence('up', 'down')
  }
  await enqueue('unwritten')
  await vi.waitFor(() => expect(ran).toContain('unwritten'), SOON)
  await sleep(GIVES_UP_MS)
  await line.heal()
  await enqueue('next')
  await vi.waitFor(() => expect(ran).toContain('next'), SOON)
})

it('the worker runs jobs after the ends of several jobs could not be stored', { timeout: A_WHILE }, async () => {
  const names = ['one', 'two', 'three', 'four', 'five']
  // Each by itself: what ends at once is written down at once.
  names.forEach((name, i) => {
    during[name] = async () => {
      await vi.waitFor(() => expect(ran).toHaveLength(names.length), SOON)
      line.refuse()
      await sleep(50 * i)
    }
  })
  await Promise.all(names.map(enqueue))
  await vi.waitFor(() => expect(ran).toHaveLength(names.length), SOON)
  await sleep(GIVES_UP_MS)
  await line.heal()
  await enqueue('next')
  await vi.waitFor(() => expect(ran).toContain('next'), SOON)
})

it('the worker stops in time although a job of its abandoned runner never ends', { timeout: A_WHILE }, async () => {
  const told = vi.spyOn(log(), 'error')
  let endStuck = () => {}
  during.stuck = () =>
    new Promise<void>((resolve) => {
      endStuck = resolve
    })
  await enqueue('stuck')
  await vi.waitFor(() => expect(ran).toContain('stuck'), SOON)
  line.refuse()
  line.cut()
  await vi.waitFor(() => expect(told).toHaveBeenCalledWith(expect.anything(), GAVE_UP), SOON)
  await line.heal()
  await enqueue('next')
  await vi.waitFor(() => expect(ran).toContain('next'), SOON)
  const beganMs = performance.now()
  await worker.stop()
  expect(performance.now() - beganMs).toBeLessThan(STOPS_WITHIN_MS)
  endStuck()
})
