// Plays a program, and writes down every call and what it was told. Nothing is judged here.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, freshCustomer, freshKey, ORDERS, REFUNDS } from '../../support/client'
import { type Call, type Ending, now, toldBy } from '../../support/history'
import { actOn, operate, reportAgain } from './operator'
import type { Ask, Behaviour, Program, Step, Strand } from './program'
import type { Stage } from './stage'

/** A client that waits longer than this for its answer has hung up. */
const CLIENT_PATIENCE_MS = 12_000
const NO_ORDER = 'ord_00000000000000000000000000'

/** One record, or what would be one: a key at an endpoint. */
export interface PlayedKey {
  /** As the history has it. */
  name: string
  key: string
  endpoint: string
  tenantId: string
  retention: Strand['retention']
  behaviour: Behaviour
  /** Every request that was sent with it. */
  requests: Map<string, Request>
  /** An operator decided about it without looking at the provider's books. */
  byWord: boolean
}

export interface Request {
  path: string
  body: object
  text: string
}

export interface Played {
  calls: Call[]
  endings: Ending[]
  keys: PlayedKey[]
  /** What nobody should ever be told, apart from the history. */
  oddities: string[]
}

const STORMS = new Set<Step['do']>(['kill', 'hold', 'restart database', 'weather'])
export const isStormy = ({ strands }: Program): boolean =>
  strands.some(({ steps }) => steps.some((step) => STORMS.has(step.do)))

export async function play(stage: Stage, program: Program): Promise<Played> {
  const played: Played = { calls: [], endings: [], keys: [], oddities: [] }
  await Promise.all(program.strands.map((strand) => playStrand({ stage, nodes: program.nodes, strand, played })))
  return played
}

/** Sends it and writes it down; what is lost is written down as that. */
export async function ask(
  stage: Stage,
  played: Played,
  { key, request, node, prefer, signal }: Asking,
): Promise<Answer | null> {
  const call: Call = {
    key: key.name,
    request: request.text,
    async: prefer?.includes('respond-async') ?? false,
    askedAt: now(),
    answeredAt: Number.POSITIVE_INFINITY,
    told: null,
  }
  played.calls.push(call)
  return answerTo(call, () =>
    stage.clientOf(node, key.retention).send(request.path, {
      method: 'POST',
      headers: { 'idempotency-key': key.key, prefer },
      body: request.body,
      signal: patient(signal),
    }),
  )
}

export interface Asking {
  key: PlayedKey
  request: Request
  node: number
  prefer?: string
  signal?: AbortSignal
}

const patient = (signal?: AbortSignal): AbortSignal => {
  const limit = AbortSignal.timeout(CLIENT_PATIENCE_MS)
  return signal ? AbortSignal.any([signal, limit]) : limit
}

async function answerTo(call: Call, asking: () => Promise<Answer>): Promise<Answer | null> {
  try {
    const answer = await asking()
    call.answeredAt = now()
    call.told = toldBy(answer)
    return answer
  } catch {
    return null
  }
}

interface Playing {
  stage: Stage
  nodes: number
  strand: Strand
  played: Played
}

async function playStrand(playing: Playing): Promise<void> {
  const { stage, strand, played } = playing
  const { retention } = strand
  const tenantId = stage.tenantOf(retention).id
  const ofKey = strand.keys.map(({ charge, refund }) => {
    const key = freshKey()
    const customerId = freshCustomer()
    const make = (endpoint: string, behaviour: Behaviour): PlayedKey => ({
      name: `${endpoint} ${key}`,
      key,
      endpoint,
      tenantId,
      retention,
      behaviour,
      requests: new Map(),
      byWord: false,
    })
    return { customerId, order: make(ORDERS, charge), refund: make(REFUNDS, refund), orderId: NO_ORDER }
  })
  played.keys.push(...ofKey.flatMap(({ order, refund }) => [order, refund]))
  const at = (key: number) => ofKey[key % ofKey.length]!

  const actor: Actor = {
    keyOf: ({ for: endpoint, key }) => at(key)[endpoint],
    requestOf(wanted) {
      const path = wanted.for === 'order' ? '/api/orders' : `/api/orders/${at(wanted.of).orderId}/refunds`
      const body = wanted.for === 'order' ? orderOf(wanted, at(wanted.key)) : refundOf(wanted, at(wanted.key).refund)
      return { path, body, text: `${path} ${JSON.stringify(body)}` }
    },
    async ask(wanted, signal) {
      const key = actor.keyOf(wanted)
      const request = actor.requestOf(wanted)
      key.requests.set(request.text, request)
      const prefer = wanted.prefer === 'nothing' ? undefined : wanted.prefer
      const answer = await ask(stage, played, { key, request, node: wanted.node % playing.nodes, prefer, signal })
      if (answer?.status === 201 && wanted.for === 'order') at(wanted.key).orderId = answer.json<{ id: string }>().id
    },
  }
  for (const step of strand.steps) await playStep(playing, actor, step)
}

const orderOf = ({ body }: Ask, { customerId, order }: { customerId: string; order: PlayedKey }) => ({
  customerId,
  currency: 'USD',
  items: [{ sku: 'SKU-1', quantity: 2, unitPriceCents: 1250 }],
  paymentMethod: `pm_${order.behaviour}`,
  ...(body === 1 ? { note: 'another one' } : {}),
})

const refundOf = ({ body }: Ask, { behaviour }: PlayedKey) => ({
  ...(body === 1 ? { amountCents: 1500 } : {}),
  reason: `sandbox:${behaviour}`,
})

interface Actor {
  keyOf(what: { for: Ask['for']; key: number }): PlayedKey
  requestOf(wanted: Ask): Request
  ask(wanted: Ask, signal?: AbortSignal): Promise<void>
}

async function playStep(playing: Playing, actor: Actor, step: Step): Promise<void> {
  const { stage, played, nodes } = playing
  switch (step.do) {
    case 'ask':
      return actor.ask(step.ask)
    case 'together':
      await Promise.all(step.asks.map((one) => actor.ask(one)))
      return
    case 'hang up':
      return actor.ask(step.ask, AbortSignal.timeout(step.afterMs))
    case 'look up':
      return lookUp(playing, actor.keyOf(step), step.node % nodes)
    case 'expire':
    case 'reconcile':
    case 'resolve':
      return actOn(playing, actor.keyOf(step), step)
    case 'run':
      await operate(playing, step.node, `${step.daemon}/runs`, { reason: 'a random program' })
      return
    case 'report again':
      return reportAgain(stage, played.keys)
    case 'pause':
      await sleep(step.ms)
      return
    case 'hold':
      return stage.hold(step.ask.node % nodes, step, () => actor.ask(step.ask))
    case 'kill':
      return stage.kill(step.node % nodes)
    case 'start':
      return stage.start(step.node % nodes)
    case 'restart database':
      return stage.restartDatabase()
    case 'weather':
      return stage.spoil(step.node % nodes, step.weather, step.ms)
  }
}

async function lookUp({ stage, played }: Playing, key: PlayedKey, node: number): Promise<void> {
  const call: Call = { key: key.name, request: null, askedAt: now(), answeredAt: Number.POSITIVE_INFINITY, told: null }
  played.calls.push(call)
  await answerTo(call, () => stage.clientOf(node, key.retention).record(key.key, key.endpoint))
}
