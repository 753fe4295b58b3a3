// Three nodes on a database that fails over, with traffic and with a provider that keeps its own books; and what clients
// were promised against what database and provider have.
import path from 'node:path'
import { applyMigrations } from '../../scripts/migrations'
import { type Journal, type Journey, openJournal } from '../soak/journal'
import { ADMIN_TOKEN, createClient, type OrderView, type RefundView, SECRETS, send } from '../support/client'
import { type Told, toldBy } from '../support/history'
import { startNode, type TestNode } from '../support/node'
import { type Patroni, startPatroni } from '../support/patroni'
import { runSql } from '../support/tenant'
import { openProvider, type Provider } from './failover-provider'

const root = path.resolve(import.meta.dirname, '..', '..')
const NODES = 3
export const LEASE_S = 6
export const SETTLE_S = 3
const INTERVAL_S = 2
const ENV = {
  ...SECRETS,
  GATEWAY: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  GATEWAY_TIMEOUT_MS: '2500',
  LEASE_SECONDS: String(LEASE_S),
  SETTLE_SECONDS: String(SETTLE_S),
  SWEEP_INTERVAL_SECONDS: String(INTERVAL_S),
  RECONCILE_INTERVAL_SECONDS: String(INTERVAL_S),
  LEDGER_INTERVAL_SECONDS: '0',
  LOG_LEVEL: 'warn',
}
/** So many replays are asked for at a time. */
const AT_A_TIME = 8

export interface Site {
  patroni: Patroni
  provider: Provider
  journal: Journal
  nodes: TestNode[]
  urls(): string[]
  /** Where they listen stays the same. */
  startNodes(env?: Record<string, string>): Promise<void>
  stopNodes(): Promise<void>
  sql<Row>(text: string, values?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

export async function openSite({ synchronous }: { synchronous: boolean }): Promise<Site> {
  const patroni = await startPatroni({ synchronous })
  const provider = await openProvider()
  const nodes: TestNode[] = []
  const ports: number[] = Array(NODES).fill(0)
  const stopNodes = async () => void (await Promise.all(nodes.splice(0).map((node) => node.kill())))
  async function close() {
    await stopNodes()
    await provider.close()
    await patroni.close()
  }
  async function startNodes(env: Record<string, string> = {}) {
    for (const [i, port] of ports.entries()) {
      const databaseUrl = patroni.url
      nodes.push(await startNode({ databaseUrl, port, env: { ...ENV, STRIPE_API_URL: provider.url, ...env } }))
      ports[i] = Number(new URL(nodes[i]!.url).port)
    }
  }
  try {
    await applyMigrations(root, patroni.url)
    await startNodes()
  } catch (error) {
    await close()
    throw error
  }
  return {
    ...{ patroni, provider, nodes, startNodes, stopNodes, close },
    urls: () => nodes.map(({ url }) => url),
    journal: openJournal(),
    sql: (text, values) => runSql(patroni.url, text, values),
  }
}

export const operator = (url: string, page: string, body?: object) =>
  send(`${url}/api/admin/${page}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body,
  })

/** Each node keeps one for notifications and some for jobs. */
export async function connections({ sql }: Site): Promise<{ notifications: number; jobs: number }> {
  const [row] = await sql<{ notifications: number; jobs: number }>(`
    SELECT count(*) FILTER (WHERE application_name = 'onceover-listen')::int AS notifications,
      count(*) FILTER (WHERE application_name = 'onceover-jobs')::int AS jobs
    FROM pg_stat_activity WHERE datname = current_database()`)
  return row!
}

export interface Acknowledged {
  journeys: Journey[]
  orders: { journey: Journey; order: OrderView }[]
  refunds: Journey[]
}

export function acknowledged({ journal }: Site): Acknowledged {
  const journeys = [...journal.journeys.values()].filter(({ final }) => final?.status === 201)
  const orders = journeys.filter(({ kind }) => kind === 'order')
  return {
    journeys,
    orders: orders.map((journey) => ({ journey, order: JSON.parse(journey.final!.body) as OrderView })),
    refunds: journeys.filter(({ kind }) => kind === 'refund'),
  }
}

/** Ids that a client holds a 201 for and that the database does not have as paid. */
export async function lost({ sql }: Site, { orders, refunds }: Acknowledged): Promise<string[]> {
  const ids = [
    ...orders.map(({ order }) => order.id),
    ...refunds.map(({ final }) => JSON.parse(final!.body).id as string),
  ]
  const found = await sql<{ id: string }>(
    `SELECT o.id FROM orders o JOIN ledger_entries l ON l.order_id = o.id AND l.kind = 'charge' AND l.status = 'succeeded'
     WHERE o.id = ANY($1) AND o.status IN ('paid', 'partially_refunded')
     UNION SELECT id FROM refunds WHERE id = ANY($1) AND status = 'succeeded'`,
    [ids],
  )
  const there = new Set(found.map(({ id }) => id))
  return ids.filter((id) => !there.has(id))
}

/** Keys for which the provider moved money more than once, or not at all. */
export function notChargedOnce({ provider }: Site, { orders, refunds }: Acknowledged) {
  const times = [
    ...orders.map(({ journey }) => provider.chargesOf((journey.body as { customerId: string }).customerId).length),
    ...refunds.map(({ path }) => provider.refundsOfOrder(path.split('/')[3]!).length),
  ]
  return { twice: times.filter((n) => n > 1).length, never: times.filter((n) => n === 0).length }
}

/** What the provider moved and the ledger does not have, and the other way round. */
export async function unbooked({ sql, provider }: Site): Promise<string[]> {
  const rows = await sql<{ ref: string }>(`SELECT provider_ref AS ref FROM ledger_entries WHERE status = 'succeeded'`)
  const [ours, theirs] = [new Set(rows.map(({ ref }) => ref)), new Set(provider.refs())]
  return [...[...ours].filter((ref) => !theirs.has(ref)), ...[...theirs].filter((ref) => !ours.has(ref))]
}

type Same = (was: Told, now: Told) => boolean

/** Byte for byte, and said to be a replay. */
const SAME_ANSWER: Same = (was, now) =>
  now.replayed && (['status', 'body', 'location', 'contentType'] as const).every((part) => now[part] === was[part])

/** For what was lost: another order or refund, and the money that has moved. */
export const SAME_MONEY: Same = (was, now) => now.status === 201 && refOf(now) === refOf(was)

function refOf({ body }: Told): string | undefined {
  const { payment, providerRef } = JSON.parse(body) as Partial<OrderView & RefundView>
  return payment?.providerRef ?? providerRef ?? undefined
}

/** Sends every acknowledged request again; says which did not get the same. */
export async function sentAgain(url: string, { journeys }: Acknowledged, same = SAME_ANSWER): Promise<Otherwise[]> {
  const client = createClient(url)
  const otherwise: Otherwise[] = []
  const left = [...journeys]
  const one = async () => {
    for (let journey = left.pop(); journey; journey = left.pop()) {
      const { path: page, key, body, final } = journey
      const now = toldBy(await client.send(page, { method: 'POST', headers: { 'idempotency-key': key }, body }))
      if (!same(final!, now)) otherwise.push({ path: page, was: final!.body, status: now.status, now: now.body })
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, one))
  return otherwise
}

interface Otherwise {
  path: string
  was: string
  status: number
  now: string
}
