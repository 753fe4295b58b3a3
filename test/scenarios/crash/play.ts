// One flow, played by its client: it does what the answers tell it to, and asks the provider, or lets it tell, where
// nobody knows the outcome. Each leg is a request with an id of its own, by which a node can be told where to hold it.
import { signPayload } from '../../../lib/payments/webhook-signature'
import { ADMIN_TOKEN, type Answer, createClient, freshKey, orderBody, send, until } from '../../support/client'
import { type Call, saidBy, toldBy } from '../../support/history'
import type { TestNode } from '../../support/node'
import type { Flow } from './flows'
import { type Booked, LEASE_MS, type RecordRow, WEBHOOK_SECRET, type World } from './world'

/** Long enough for any leg on a busy machine; what hangs is a bug. */
const STUCK_MS = 40_000
const LOOK_MS = 100

export interface Play {
  flow: Flow
  id: string
  key: string
  body: ReturnType<typeof orderBody>
  /** The order that is to be refunded. */
  orderId: string | null
  calls: Call[]
  /** Set once something was broken: what was asked ends as it ends, and nothing follows. */
  isOver: boolean
}

let plays = 0
export const newPlay = (flow: Flow): Play => ({
  flow,
  id: `play${++plays}`,
  key: freshKey(),
  body: orderBody({ paymentMethod: flow.kind === 'refund' ? (flow.orderMethod ?? 'pm_ok') : `pm_${flow.behaviour}` }),
  orderId: null,
  calls: [],
  isOver: false,
})

export const requestIdOf = (play: Play, leg: string) => `${play.id}.${leg}`
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** What has to be there before the flow begins. */
export async function prepare(play: Play, node: TestNode): Promise<void> {
  if (play.flow.kind !== 'refund') return
  const key = freshKey()
  const client = createClient(node.url)
  await until(() => client.order(key, play.body), isFinal, STUCK_MS)
  const record = await client.record(key)
  play.orderId = record.json<{ resource: { id: string } }>().resource.id
}

/** The client's request, once. */
export async function ask(play: Play, url: string, leg: string): Promise<Answer> {
  const { key, body, flow, orderId } = play
  const client = createClient(url)
  const headers = {
    'x-request-id': requestIdOf(play, leg),
    ...(flow.kind === 'async' ? { prefer: 'respond-async' } : {}),
  }
  const call: Call = { key, request: flow.kind, askedAt: performance.now(), answeredAt: Infinity, told: null }
  play.calls.push(call)
  const answer = await (orderId
    ? client.refund(orderId, key, { reason: `sandbox:${flow.behaviour}` }, headers)
    : client.order(key, body, headers))
  call.answeredAt = performance.now()
  call.told = toldBy(answer)
  return answer
}

export const isFinal = (answer: Answer) => saidBy(toldBy(answer)) === 'final'

/** People ask about one key at most once a second. */
const ASK_PAUSE_MS = 1000

/** To the final answer. `legs` grows as they begin, for whoever watches. */
export async function playOut(play: Play, world: World, legs: string[] = [], from = 1): Promise<void> {
  const begin = (leg: string) => {
    legs.push(leg)
    return leg
  }
  let foundOut = 0
  for (let turn = from; turn <= 3; turn++) {
    const answer = await ask(play, world.server.url, begin(`request${turn}`))
    if (isFinal(answer) || play.isOver) return
    let record = await restingRecord(play, world)
    while (record.state === 'unknown') {
      if (foundOut > 0 || play.flow.isPatient)
        await sleep(Math.max(foundOut > 0 ? ASK_PAUSE_MS : 0, record.settlesInMs ?? 0) + 1)
      const leg = begin(`${play.flow.foundOutBy ?? 'look-up'}${++foundOut}`)
      if (play.flow.foundOutBy === 'webhook') await deliver(play, world, leg)
      else await lookUp(play, world.server, record.id, leg)
      record = await restingRecord(play, world)
    }
  }
  throw new Error(`${play.flow.kind}, ${play.flow.name}: no final answer after three requests`)
}

/** The record once nobody works on it. */
async function restingRecord(play: Play, world: World): Promise<RecordRow> {
  const moving = play.flow.kind === 'async' ? ['pending', 'in_progress', 'failed_retryable'] : ['in_progress']
  let record: RecordRow | null = null
  for (const end = performance.now() + STUCK_MS; performance.now() < end && !play.isOver; await sleep(LOOK_MS)) {
    record = await world.db.record(play.key)
    if (record && !moving.includes(record.state)) return record
  }
  throw new Error(`${play.flow.kind}, ${play.flow.name}: still moving: ${JSON.stringify(record)}`)
}

const asOperator = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }

function lookUp(play: Play, node: TestNode, recordId: string, leg: string): Promise<Answer> {
  const headers = { ...asOperator, 'x-request-id': requestIdOf(play, leg) }
  return send(`${node.url}/api/admin/keys/${recordId}/reconcile`, { method: 'POST', headers, body: {} })
}

/** The provider's report of what it booked for this record, as often as it likes. */
export async function deliver(play: Play, world: World, leg: string, times = 1): Promise<void> {
  const record = await world.db.record(play.key)
  for (const booked of await world.db.booked(record!.id)) {
    const body = JSON.stringify(eventOf(play, booked))
    for (let i = 0; i < times; i++) {
      const headers = {
        'content-type': 'application/json',
        'sandbox-signature': signPayload(body, WEBHOOK_SECRET, Math.floor(Date.now() / 1000)),
        'x-request-id': requestIdOf(play, leg),
      }
      await send(`${world.server.url}/api/webhooks/sandbox`, { method: 'POST', headers, body })
    }
  }
}

const eventOf = (play: Play, booked: Booked) => ({
  id: `evt_${play.id}_${booked.ref}`,
  type: `${booked.kind}.${booked.status}`,
  createdAt: new Date().toISOString(),
  data: booked,
})

/** Until a lease that is held now is over. */
export const leaseEnds = () => sleep(LEASE_MS + 100)

/** A lease that is over is noticed by the next request, and by the sweeper, which comes by for all at once. */
export async function oversleep(play: Play, world: World): Promise<void> {
  await leaseEnds()
  await ask(play, world.server.url, 'meanwhile')
}

export async function sweep(world: World): Promise<void> {
  await send(`${world.server.url}/api/admin/sweeper/runs`, { method: 'POST', headers: asOperator, body: {} })
}
