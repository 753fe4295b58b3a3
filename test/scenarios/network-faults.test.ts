// A bad network between a node and its database, and between a node and its provider. Whatever it does, and whenever:
// everybody is answered in time with what the contract has for it, nobody is charged twice, and once the line is well
// again everything works at once, on as many connections as before.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, freshKey, orderBody, type ProblemView, type RecordView, until } from '../support/client'
import { contradictions } from '../support/history'
import {
  type Asked,
  type FaultSite,
  INTERVAL_MS,
  LEASE_MS,
  openFaultSite,
  orders,
  SETTLE_MS,
  TIME_LIMIT_MS,
} from './network-faults-site'

/** Where an order is when the fault strikes. */
const STAGES = ['before the request', 'reserving', 'before the call', 'answer on its way', 'settling'] as const
type Stage = (typeof STAGES)[number]

/** The database's own limit for a statement, and what node and machine take on top of any limit. */
const STATEMENT_LIMIT_MS = 10_000
const SMALL_MS = 4000
/** The circuit's next probe is at most two seconds away. */
const AT_ONCE_MS = 3500
/** Nothing stays stuck longer than this. */
const FINAL_MS = LEASE_MS + SETTLE_MS + 3 * INTERVAL_MS + 10_000

const PAID = '201'
const NO_STORE = '503 idempotency_store_unavailable'
const NO_PROVIDER = '503 payment_provider_unavailable'
const UNKNOWN = '504 payment_outcome_unknown'

interface Row {
  fault: string
  strike(site: FaultSite): unknown
  /** How long it lasts: until everybody has been answered, unless it is said. */
  lasts?(): Promise<unknown>
  withinMs?: number
  told: Record<Stage, readonly string[]>
}

let site: FaultSite
/** All that was ever ordered here. */
const placed: Asked[] = []
beforeAll(async () => {
  site = await openFaultSite()
})
afterAll(() => site?.close())
afterEach(() => site.heal())

const said = ({ status, json }: Answer) => (status === 201 ? PAID : `${status} ${json<ProblemView>().code}`)

function place(about: string, paymentMethod?: string): Asked[] {
  const fresh = orders(about, paymentMethod)
  placed.push(...fresh)
  return fresh
}

/** Orders at every stage, the fault, everybody's answer, and a line that is well again. */
async function play(where: 'database' | 'provider', row: Row): Promise<void> {
  const { node, ask } = site
  const made = Object.fromEntries(
    STAGES.map((stage) => [
      stage,
      place(`${where}, ${row.fault}, ${stage}`, stage === 'answer on its way' ? 'pm_slow_400' : 'pm_ok'),
    ]),
  ) as Record<Stage, Asked[]>
  const answers: { stage: Stage; order: Asked; asking: ReturnType<typeof ask> }[] = []
  const send = (stage: Stage) => {
    for (const order of made[stage]) answers.push({ stage, order, asking: ask(order) })
  }
  for (const [step, stage] of [
    ['called', 'settling'],
    ['calling', 'before the call'],
    ['reserving', 'reserving'],
  ] as const) {
    await node.hold(step)
    send(stage)
    await Promise.race([node.held(2), ...answers.map(answeredEarly)])
  }
  // A step that nobody comes to: those that are held stay so, and the next ones pass.
  await node.hold('evidence_kept')
  send('answer on its way')
  await until(
    async () => made['answer on its way'].every((order) => site.provider.requestsOf(order) === 1),
    (arrived) => arrived,
  )

  await row.strike(site)
  // What has been cut is noticed by now.
  await site.client.get('/api/health')
  const struckAt = performance.now()
  await node.release()
  send('before the request')
  const all = Promise.all(
    answers.map(async ({ stage, order, asking }) => {
      const { answer } = await asking
      return { stage, about: order.about, told: said(answer), ms: performance.now() - struckAt }
    }),
  )
  await (row.lasts?.() ?? all)
  await site.heal()
  const healedAt = performance.now()

  for (const { stage, about, told, ms } of await all) {
    expect(row.told[stage], `${about}: ${told}`).toContain(told)
    expect(ms, about).toBeLessThan((row.withinMs ?? TIME_LIMIT_MS) + SMALL_MS)
  }
  await expectFreshAtOnce(healedAt)
}

async function answeredEarly({ order, asking }: { order: Asked; asking: Promise<{ answer: Answer }> }): Promise<never> {
  throw new Error(`${order.about}: told ${said((await asking).answer)} before the fault`)
}

async function expectFreshAtOnce(healedAt: number) {
  const [fresh] = place('fresh') as [Asked, Asked]
  placed.pop()
  const worked = await until(
    () => site.ask(fresh),
    ({ answer }) => answer.status === 201,
    AT_ONCE_MS,
  )
  expect(worked.ms).toBeLessThan(AT_ONCE_MS)
  expect(performance.now() - healedAt).toBeLessThan(2 * AT_ONCE_MS)
}

/** What a row says of a stage, where it does not depend on the stage. */
const everywhere = (told: readonly string[], but: Partial<Row['told']> = {}) =>
  ({ ...Object.fromEntries(STAGES.map((stage) => [stage, told])), ...but }) as Row['told']

/** Nobody was called for those that were not reserved yet; of the others the provider may know more than we do. */
const withoutStore = (called: readonly string[]) =>
  everywhere(called, { 'before the request': [NO_STORE], reserving: [NO_STORE] })

describe('a network fault between node and database', () => {
  const rows: Row[] = [
    {
      fault: 'commits whose confirmation is lost',
      strike: ({ lines }) => lines.database.swallow('down'),
      lasts: () => sleep(700),
      // Whoever knows the provider's answer writes it down again, finds it written, and answers as a duplicate is.
      told: withoutStore([PAID, UNKNOWN]),
    },
    {
      fault: 'nobody listens for a second',
      strike: ({ lines }) => lines.database.refuse(),
      lasts: () => sleep(1000),
      told: withoutStore([PAID, UNKNOWN]),
    },
    {
      fault: 'half-open',
      strike: ({ lines }) => lines.database.silence('up', 'down'),
      withinMs: STATEMENT_LIMIT_MS + TIME_LIMIT_MS,
      told: withoutStore([UNKNOWN]),
    },
    {
      fault: 'a little slower',
      strike: ({ lines }) => lines.database.delay(40),
      withinMs: TIME_LIMIT_MS + 2000,
      told: everywhere([PAID]),
    },
    {
      fault: 'hangs up, and that is heard late',
      async strike({ lines, sql }) {
        lines.database.closeSlowly(500)
        await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'onceover'`)
      },
      told: everywhere([PAID, UNKNOWN], {
        'before the request': [PAID, NO_STORE],
        reserving: [PAID, NO_STORE],
      }),
    },
  ]
  test.each(rows)('$fault: orders are answered as documented, and work after recovery', (row) => play('database', row))

  test('a delay that uses up the lease during the reservation prevents the provider call', async () => {
    const slow = place('database, eats up the lease')
    await site.node.hold('reserved')
    // A reservation is four round trips.
    site.lines.database.delay((LEASE_MS - TIME_LIMIT_MS) / 8 + 50)
    const asking = slow.map((order) => site.ask(order))
    await site.node.held(2)
    await site.heal()
    await site.node.release()
    for (const { answer } of await Promise.all(asking)) expect(said(answer)).toBe(NO_PROVIDER)
    for (const order of slow) expect(site.provider.requestsOf(order)).toBe(0)
  })
})

describe('a network fault between node and provider', () => {
  /** What is past its call does not care. */
  const provider = (told: readonly string[], onItsWay: readonly string[]) =>
    everywhere(told, { 'answer on its way': onItsWay, settling: [PAID] })
  const rows: Row[] = [
    {
      fault: 'nobody listens',
      strike: ({ lines }) => lines.provider.refuse(),
      told: provider([NO_PROVIDER], [UNKNOWN]),
    },
    { fault: 'cut', strike: ({ lines }) => lines.provider.cut(), told: provider([PAID], [UNKNOWN]) },
    {
      fault: 'breaks off in the middle of an answer',
      strike: ({ provider }) => provider.answerHalf(true),
      told: provider([UNKNOWN], [PAID]),
    },
    {
      fault: 'half-open: answers don’t arrive',
      strike: ({ lines }) => lines.provider.silence('down'),
      told: provider([UNKNOWN], [UNKNOWN]),
    },
    {
      fault: 'half-open: requests arrive when nobody waits for them any more',
      strike: ({ lines }) => lines.provider.silence('up'),
      told: provider([UNKNOWN], [PAID]),
    },
    {
      fault: 'requests are lost',
      strike: ({ lines }) => lines.provider.swallow('up'),
      told: provider([UNKNOWN], [PAID]),
    },
    {
      fault: 'connections that it has forgotten',
      strike: ({ lines }) => lines.provider.forget(),
      // A new connection works; one that is used again leads nowhere.
      told: provider([PAID, UNKNOWN], [UNKNOWN]),
    },
    { fault: 'slower', strike: ({ lines }) => lines.provider.delay(150), told: provider([PAID], [PAID]) },
    {
      fault: 'slower than the time limit',
      strike: ({ lines }) => lines.provider.delay(TIME_LIMIT_MS - 400),
      told: provider([UNKNOWN], [PAID, UNKNOWN]),
    },
    {
      fault: 'hangs up slowly after a full answer',
      strike: ({ lines }) => lines.provider.closeSlowly(60_000),
      withinMs: 0,
      told: provider([PAID], [PAID]),
    },
  ]
  test.each(rows)('$fault: orders are answered as documented, and work after recovery', (row) => play('provider', row))

  test('an unsent charge leaves the key failed_retryable, and a retry charges once after recovery', async () => {
    const [order] = place('provider, refused') as [Asked, Asked]
    placed.pop()
    site.lines.provider.refuse()
    expect(said((await site.ask(order)).answer)).toBe(NO_PROVIDER)
    expect((await site.client.record(order.key)).json<RecordView>().state).toBe('failed_retryable')
    await site.heal()
    expect(said((await site.ask(order)).answer)).toBe(PAID)
    expect(site.provider.chargesOf(order)).toBe(1)
  })

  test('a charge with a lost answer stays unknown while the provider is unreachable for lookups', async () => {
    const [order] = place('provider, away during look-ups') as [Asked, Asked]
    placed.pop()
    site.lines.provider.silence('down')
    expect(said((await site.ask(order)).answer)).toBe(UNKNOWN)
    site.lines.provider.refuse()
    await sleep(2 * INTERVAL_MS)
    expect(said((await site.ask(order)).answer)).toBe('409 idempotency_outcome_unknown')
    expect(site.provider.chargesOf(order)).toBe(1)
  })
})

describe('a network fault on the database connections for notifications and jobs', () => {
  test.each([
    ['cut', () => site.lines.direct.cut()],
    ['connections refused', () => site.lines.direct.refuse()],
    ['half-open', () => site.lines.direct.silence('up', 'down')],
  ])('%s: waiting clients are answered, and jobs resume after recovery', async (_, strike) => {
    const order = { key: freshKey(), body: orderBody({ paymentMethod: 'pm_slow_1000' }), about: 'awaited' }
    placed.push(order)
    const first = site.ask(order)
    await until(
      async () => site.provider.requestsOf(order),
      (count) => count === 1,
    )
    const listened = site.ask(order, { prefer: 'wait=3' })
    await until(
      () =>
        site.sql<{ n: number }>(`SELECT count(*)::int AS n FROM idempotency_records WHERE key = $1 AND awaited`, [
          order.key,
        ]),
      ([row]) => row?.n === 1,
    )
    strike()
    const deaf = site.ask(order, { prefer: 'wait=3' })
    const accepted = { key: freshKey(), body: orderBody(), about: 'accepted' }
    placed.push(accepted)
    expect((await site.ask(accepted, { prefer: 'respond-async' })).answer.status).toBe(202)
    expect(said((await first).answer)).toBe(PAID)
    for (const { answer, ms } of await Promise.all([listened, deaf])) {
      expect(said(answer)).toBe(PAID)
      expect(ms).toBeLessThan(3000 + SMALL_MS)
    }
    await site.heal()
    const done = await until(
      () => site.ask(accepted),
      ({ answer }) => answer.status !== 202,
      FINAL_MS,
    )
    expect(said(done.answer)).toBe(PAID)
  })
})

test('after all network faults, each key has a 201 and one charge, with no discrepancy and no leaked connection', async () => {
  const ends = await Promise.all(
    placed.map(async (order) => {
      await until(
        () => site.ask(order),
        ({ answer }) => answer.status === 201,
        FINAL_MS,
      ).catch((error: Error) => {
        throw new Error(`${order.about}: ${error.message}`)
      })
      return [order.about, site.provider.chargesOf(order)] as const
    }),
  )
  expect(ends.filter(([, count]) => count !== 1)).toEqual([])
  expect(contradictions(site.calls)).toEqual([])
  expect(await site.sql('SELECT * FROM discrepancies')).toEqual([])
  expect(await until(site.leaks, (leaks) => leaks.length === 0)).toEqual([])
})
