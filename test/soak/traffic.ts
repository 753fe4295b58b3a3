// A steady mix of everything that clients and operators do, at a rate that does not give way: what is due is sent,
// whether or not the answers to what was sent before have come. Every client does as it is told: it repeats its request
// under the same key until there is an answer that holds.
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN_TOKEN, type Answer, API_KEY, type OrderView, orderBody, send } from '../support/client'
import type { Fleet, Member } from '../support/fleet'
import type { Journal, Journey } from './journal'
import type { Random } from './random'

const MIX = {
  order: 46,
  replay: 14,
  duplicates: 6,
  reuse: 4,
  async: 6,
  refund: 6,
  declined: 3,
  slow: 4,
  timeout_charged: 1.5,
  timeout_lost: 1,
  late: 1,
  failed: 1,
  refused: 2,
  unreachable: 0.2,
  look_up: 3,
  reconcile: 0.6,
  expire: 0.6,
}
type Kind = keyof typeof MIX

const METHODS: Partial<Record<Kind, string>> = {
  declined: 'pm_declined',
  slow: 'pm_slow_300',
  timeout_charged: 'pm_timeout_charged',
  timeout_lost: 'pm_timeout_lost_once',
  late: 'pm_late_800_once',
  failed: 'pm_error_once',
  refused: 'pm_refused_once',
  unreachable: 'pm_unreachable',
}
/** The provider will never say: nobody can find out but people. */
const FOR_PEOPLE: Kind = 'unreachable'

/** More than a client waits, so that a hung request shows as one. */
const PATIENCE_MS = 40_000
/** So much under way at once that more would measure the machine that sends. */
const MOST_UNDER_WAY = 400
/** Longer than the service keeps anybody waiting who does not ask for it. */
const TRIES_FOR_PEOPLE = 3

export interface Traffic {
  /** Ends when everybody has been answered for good, or at the latest after `limitMs`. */
  stop(limitMs: number): Promise<void>
  counts: { asked: number; shed: number; answered: number }
  /** Told of each fresh order that went through: by whom, when it was asked for and how long it took. */
  onSuccess(listener: (member: Member, askedAt: number, ms: number) => void): void
}

export function startTraffic(fleet: Fleet, journal: Journal, random: Random, rate: number): Traffic {
  const counts = { asked: 0, shed: 0, answered: 0 }
  const listeners: ((member: Member, askedAt: number, ms: number) => void)[] = []
  const steps = new Set<Promise<void>>()
  let underWay = 0
  let stopped = false
  let givenUp = false

  const alive = () => {
    const living = fleet.members.filter((member) => member.isAlive())
    return random.pick(living.length > 0 ? living : fleet.members)
  }
  async function post(member: Member, journey: Journey, body: object, prefer?: string): Promise<Answer | null> {
    underWay++
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS)
      const headers = {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
        'idempotency-key': journey.key,
        prefer,
      }
      const answer = await journal.record(journey, body, () =>
        send(new URL(journey.path, member.client.url), { method: 'POST', headers, body, signal }),
      )
      if (answer) counts.answered++
      return answer
    } finally {
      underWay--
    }
  }
  async function ask(journey: Journey, prefer?: string) {
    const member = alive()
    const askedAt = performance.now()
    const answer = await post(member, journey, journey.body, prefer)
    if (journey.kind === 'order' && answer?.status === 201)
      for (const told of listeners) told(member, askedAt, performance.now() - askedAt)
  }
  /** As a good client: the same key until there is an answer that holds. */
  async function see(journey: Journey) {
    for (let tries = 1; !journey.final && !givenUp; tries++) {
      if (journey.kind === FOR_PEOPLE && tries > TRIES_FOR_PEOPLE) {
        if (journey.underWay === 0) journal.journeys.delete(journey.key)
        return
      }
      await sleep(500 + 500 * Math.min(tries, 4) * Math.random())
      await ask(journey)
    }
  }
  const begin = (kind: Kind, path: string, body: object) => journal.begin(kind, freshKeyOf(random), path, body)
  const order = (kind: Kind) =>
    begin(kind, '/api/orders', orderBody({ ...(METHODS[kind] ? { paymentMethod: METHODS[kind] } : {}) }))
  const recent = (wanted: (journey: Journey) => boolean) => {
    const found = [...journal.journeys.values()].filter(
      (journey) => journey.final && !journey.expiring && wanted(journey),
    )
    return found.length > 0 ? random.pick(found) : null
  }
  const paid = () => recent(({ kind, final }) => kind === 'order' && final?.status === 201)

  async function step(kind: Kind): Promise<void> {
    switch (kind) {
      case 'replay': {
        const known = recent(() => true)
        return known ? ask(known) : undefined
      }
      case 'duplicates': {
        const journey = order(kind)
        await Promise.all([ask(journey), ask(journey), ask(journey, 'wait=5')])
        return see(journey)
      }
      case 'reuse': {
        const known = recent(({ path }) => path === '/api/orders')
        if (!known) return
        known.reused = true
        await post(alive(), known, { ...known.body, note: 'another request' })
        return
      }
      case 'async': {
        const journey = order(kind)
        await ask(journey, 'respond-async')
        return see(journey)
      }
      case 'refund': {
        const known = paid()
        if (!known) return
        const { id } = JSON.parse(known.final!.body) as OrderView
        const reason = random.next() < 0.2 ? { reason: 'sandbox:timeout_charged' } : {}
        const journey = begin(kind, `/api/orders/${id}/refunds`, { amountCents: 100, ...reason })
        await ask(journey)
        return see(journey)
      }
      case 'look_up': {
        const known = recent(() => true)
        if (known) await alive().client.record(known.key)
        return
      }
      case 'reconcile':
        return reconcileOne(alive())
      case 'expire': {
        const known = paid()
        if (known) await expireOne(alive(), known)
        return
      }
      default: {
        const journey = order(kind)
        await ask(journey)
        return see(journey)
      }
    }
  }

  const sending = (async () => {
    const startedAt = performance.now()
    for (let n = 0; !stopped; n++) {
      await sleep(Math.max(0, startedAt + (n * 1000) / rate - performance.now()))
      const kind = random.weighted(MIX)
      if (underWay >= MOST_UNDER_WAY) {
        counts.shed++
        continue
      }
      counts.asked++
      // What can't be asked while a node or the database is away is not asked: nothing hangs on it.
      const taken = step(kind).catch(() => {})
      steps.add(taken)
      taken.finally(() => steps.delete(taken))
    }
  })()

  return {
    counts,
    onSuccess: (listener) => void listeners.push(listener),
    async stop(limitMs) {
      stopped = true
      await sending
      await Promise.race([Promise.all(steps), sleep(limitMs)])
      givenUp = true
      await Promise.all(steps)
    },
  }
}

const HEX = [...'0123456789abcdef']
const freshKeyOf = (random: Random) => `soak-${Array.from({ length: 24 }, () => random.pick(HEX)).join('')}`

const asOperator = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }

interface KeyRow {
  id: string
  version: number
}

async function findKey(member: Member, query: string): Promise<KeyRow | undefined> {
  const answer = await send(new URL(`/api/admin/keys?limit=1&${query}`, member.client.url), { headers: asOperator })
  return answer.status === 200 ? answer.json<{ items: KeyRow[] }>().items[0] : undefined
}

async function operate(member: Member, key: KeyRow, action: string, body: object): Promise<void> {
  const url = new URL(`/api/admin/keys/${key.id}/${action}`, member.client.url)
  await send(url, { method: 'POST', headers: asOperator, body })
}

async function reconcileOne(member: Member): Promise<void> {
  const key = await findKey(member, 'state=unknown')
  if (key) await operate(member, key, 'reconcile', { reason: 'an operator looks at it' })
}

async function expireOne(member: Member, journey: Journey): Promise<void> {
  const key = await findKey(member, `q=${journey.key}`)
  if (!key) return
  journey.expiring = true
  await operate(member, key, 'expire', { reason: 'an operator ends it early', version: key.version })
}
