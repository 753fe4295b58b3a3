// What programs are played on: a fleet, two tenants, and everything that can go wrong with them. Faults of one node
// come one after the other, whoever asks for them, and all of them can be healed.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Step as Boundary } from '../../../lib/idempotency/boundary'
import { type Client, createClient } from '../../support/client'
import { openFleet } from '../../support/fleet'
import type { Line } from '../../support/line'
import { addTenant, runSql, type TestTenant } from '../../support/tenant'
import { MAX_NODES, type Strand, type Weather } from './program'

export const LEASE_MS = 1500
/** A call that is made at the lease's last moment and arrives as late as a program has it is still within this. */
export const SETTLE_MS = 1200
const INTERVAL_SECONDS = 0.25
const MOMENT_SECONDS = 2
/** An attempt that does not come to the step where it is to be held is not waited for any longer. */
const HOLD_PATIENCE_MS = 900

/** Twice the time that a key may be stuck, for a machine that does other things too. */
export const CALM_MS = 2 * (LEASE_MS + SETTLE_MS + INTERVAL_SECONDS * 1000) + 6000
/** A reconciler that died with a key in its hands holds it for ten seconds; a store that was away is asked less often. */
export const STORM_MS = CALM_MS + 20_000

export interface Stage {
  databaseUrl: string
  tenantOf(retention: Strand['retention']): TestTenant
  clientOf(node: number, retention: Strand['retention']): Client
  query<Row>(text: string, values?: unknown[]): Promise<Row[]>
  kill(node: number): Promise<void>
  start(node: number): Promise<void>
  /** Both begin and go on by themselves. */
  restartDatabase(): void
  spoil(node: number, weather: Weather, ms: number): void
  /** Holds what the work makes happen at the node; then death, or on it goes. */
  hold<T>(
    node: number,
    held: { at: Boundary; ms: number; ends: 'kill' | 'release' },
    work: () => Promise<T>,
  ): Promise<T>
  heal(): Promise<void>
  close(): Promise<void>
}

export async function openStage(env: Record<string, string>): Promise<Stage> {
  const fleet = await openFleet({
    nodes: MAX_NODES,
    env: {
      GATEWAY_TIMEOUT_MS: '400',
      LEASE_SECONDS: String(LEASE_MS / 1000),
      SETTLE_SECONDS: String(SETTLE_MS / 1000),
      SWEEP_INTERVAL_SECONDS: String(INTERVAL_SECONDS),
      REAP_INTERVAL_SECONDS: String(INTERVAL_SECONDS),
      RECONCILE_INTERVAL_SECONDS: String(INTERVAL_SECONDS),
      LEDGER_INTERVAL_SECONDS: '0',
      LOG_LEVEL: 'error',
      ...env,
    },
  })
  const { members, databaseUrl } = fleet
  const tenants = {
    day: await addTenant(databaseUrl),
    moment: await addTenant(databaseUrl, { retentionHours: MOMENT_SECONDS / 3600 }),
  }
  const turns: Promise<unknown>[] = members.map(() => Promise.resolve())
  const everyNode = members.map((_, node) => node)

  function inTurn<T>(nodes: readonly number[], work: () => Promise<T>): Promise<T> {
    const done = Promise.all(nodes.map((node) => turns[node])).then(work)
    // Whoever asked for it hears of its failure; whoever is next goes on.
    for (const node of nodes) turns[node] = done.catch(() => {})
    return done
  }
  const failures: unknown[] = []
  const inTheBackground = (work: Promise<unknown>) => void work.catch((error) => failures.push(error))
  const at = (node: number) => members[node % members.length]!

  return {
    databaseUrl,
    tenantOf: (retention) => tenants[retention],
    clientOf: (node, retention) => createClient(at(node).client.url, tenants[retention].apiKey),
    query: (text, values) => runSql(databaseUrl, text, values),
    kill: (node) => inTurn([node], async () => at(node).isAlive() && at(node).kill()).then(() => {}),
    start: (node) => inTurn([node], async () => at(node).isAlive() || at(node).start()).then(() => {}),
    restartDatabase: () => inTheBackground(inTurn(everyNode, () => fleet.restartDatabase())),
    spoil: (node, weather, ms) =>
      inTheBackground(
        inTurn([node], async () => {
          const { line } = at(node)
          TURN[weather](line)
          await sleep(ms)
          line.heal()
        }),
      ),
    hold: (node, { at: step, ms, ends }, work) =>
      inTurn([node], async () => {
        const member = at(node)
        if (!member.isAlive()) return work()
        await member.hold(step)
        const working = work()
        await Promise.race([member.held(), working, sleep(HOLD_PATIENCE_MS)])
        await sleep(ms)
        await (ends === 'kill' ? member.kill() : member.release())
        return working
      }),
    async heal() {
      await Promise.all(turns)
      await Promise.all(members.filter((member) => !member.isAlive()).map((member) => member.start()))
      if (failures.length > 0) throw failures.splice(0)[0]
    },
    close: () => fleet.close(),
  }
}

const TURN: Record<Weather, (line: Line) => void> = {
  cut: (line) => line.cut(),
  refuse: (line) => line.refuse(),
  'silence up': (line) => line.silence('up'),
  'silence down': (line) => line.silence('down'),
  'swallow up': (line) => line.swallow('up'),
  'swallow down': (line) => line.swallow('down'),
}
