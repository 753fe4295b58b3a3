// What clients asked and were told, and whether it fits together. For each key there is one winner, and no answer
// contradicts one that had arrived before its question was asked. This knows the contract and nothing of how it is kept.
import type { Answer, ProblemView, RecordView } from './client'

export interface Call {
  key: string
  /** Says which request this is: the same text for the same endpoint and body. Null for a look-up of the key. */
  request: string | null
  /** Whether it asked to be accepted and run later; left out where the recorder does not say. */
  async?: boolean
  /** By `now`: one clock for all calls, and the one by which answers say when they expire. */
  askedAt: number
  /** Infinity for one whose answer never came: it may take effect at any time. */
  answeredAt: number
  told: Told | null
}

export interface Told {
  status: number
  /** Of a problem. */
  code: string | null
  replayed: boolean
  location: string | null
  contentType: string | null
  /** From when on the key is not replayed any more, to the second. */
  expiresAt: number | null
  body: string
}

/** An operator ends a key before its time. */
export interface Ending {
  key: string
  askedAt: number
  answeredAt: number
  /** It was told that the key is expired now; otherwise it may be. */
  done: boolean
}

/** The clock for those who record: the wall's, as far as that does not go back. */
export const now = (): number => performance.timeOrigin + performance.now()

export function toldBy({ status, headers, bytes }: Answer): Told {
  const body = bytes.toString('utf8')
  const contentType = headers['content-type'] ?? null
  const isProblem = contentType?.startsWith('application/problem+json')
  const expires = headers['idempotency-expires']
  return {
    status,
    code: isProblem ? (JSON.parse(body) as ProblemView).code : null,
    replayed: headers['idempotent-replayed'] === 'true',
    location: headers.location ?? null,
    contentType,
    expiresAt: typeof expires === 'string' ? Date.parse(expires) : null,
    body,
  }
}

/** The one thing that may be said of a key from then on, until it expires. */
const STORED_CODES = new Set([
  'payment_declined',
  'order_not_found',
  'order_not_refundable',
  'refund_exceeds_order',
  'request_expired',
])
/** No record was looked at: such an answer says nothing about the key. */
const SILENT_CODES = new Set([
  'idempotency_store_unavailable',
  'restore_in_progress',
  'rate_limited',
  'active_key_limit',
  'unauthenticated',
])
/** Only the owner of a synchronous request, or who waits for one, is told so: an asynchronous one is a 202. */
const SYNCHRONOUS_CODES = new Set([
  'idempotency_key_in_progress',
  'payment_provider_unavailable',
  'payment_outcome_unknown',
])

export type Said = 'final' | 'reused' | 'expired' | 'open' | 'nothing' | 'unnamed'

export function saidBy({ status, code }: Told): Said {
  if (status === 201 || (code !== null && STORED_CODES.has(code))) return 'final'
  if (code === 'idempotency_key_reused') return 'reused'
  if (code === 'idempotency_key_expired') return 'expired'
  if (code !== null && SILENT_CODES.has(code)) return 'nothing'
  if (status === 202 || code === 'idempotency_outcome_unknown' || (code !== null && SYNCHRONOUS_CODES.has(code)))
    return 'open'
  return 'unnamed'
}

/** The header is cut to seconds; and an expired key is expired on every node within a second. */
const A_SECOND = 1000

type Answered = Call & { told: Told; said: Said }
/** Somebody knew the final answer, be it only its status. */
interface Known {
  status: number
  since: number
  request: string | null
}

/** Each contradiction as a sentence; none for a history that could have happened one call after the other. */
export function contradictions(calls: readonly Call[], endings: readonly Ending[] = []): string[] {
  const keys = [...new Set(calls.map(({ key }) => key))]
  return keys.flatMap((key) =>
    contradictionsOfKey(
      calls.filter((call) => call.key === key),
      endings.filter((ending) => ending.key === key),
    ).map((sentence) => `${key}: ${sentence}`),
  )
}

function contradictionsOfKey(calls: readonly Call[], endings: readonly Ending[]): string[] {
  const told = calls.filter((call): call is Call & { told: Told } => call.told !== null)
  const answered = told
    .filter(({ request }) => request !== null)
    .map((call): Answered => ({ ...call, said: saidBy(call.told) }))
  const looks = told.filter(({ request }) => request === null)
  const finals = answered.filter(({ said }) => said === 'final')
  const known: Known[] = [
    ...finals.map(({ told: { status }, answeredAt: since, request }) => ({ status, since, request })),
    ...looks.flatMap(({ told, answeredAt: since }) => {
      const status = recordOf(told)?.response?.status
      return status === undefined ? [] : [{ status, since, request: null }]
    }),
  ]
  return [
    ...answered.filter(({ said }) => said === 'unnamed').map(unnamed),
    ...oneWinner(finals),
    ...oneRequest(answered, calls),
    ...oneManner(answered, calls),
    ...oneResource(told),
    ...answered.flatMap((call) => afterFinal(call, known)),
    ...answered.flatMap((call) => runsForSomebody(call, calls)),
    ...answered.flatMap((call) => expiry(call, answered, endings)),
    ...looks.flatMap((look) => lookedUp(look, known, answered)),
  ]
}

const earlierThan =
  (call: Call) =>
  ({ answeredAt }: { answeredAt: number }) =>
    answeredAt < call.askedAt

const unnamed = ({ told }: Answered) => `an answer that the contract does not name: ${told.status} ${told.body}`

function oneWinner(finals: readonly Answered[]): string[] {
  const first = finals.filter(({ told }) => !told.replayed)
  const different = new Set(
    finals.map(({ told }) => `${told.status} ${told.location ?? ''} ${told.contentType} ${told.body}`),
  )
  const ends = new Set(finals.map(({ told }) => told.expiresAt))
  return [
    ...(first.length > 1 ? [`${first.length} calls were told that they were the first`] : []),
    ...(different.size > 1 ? [`${different.size} different final answers: ${[...different].join(' | ')}`] : []),
    ...(ends.size > 1 ? ['its final answer was said to expire at different times'] : []),
  ]
}

/** The key stands for one request: whoever sent another is told so, and nobody who sent that one is. */
function oneRequest(answered: readonly Answered[], calls: readonly Call[]): string[] {
  const owners = new Set(answered.filter(({ said }) => OF_THE_OWNER.has(said)).map(({ request }) => request))
  if (owners.size > 1) return [`it stands for ${owners.size} requests: ${[...owners].join(' | ')}`]
  const reused = answered.filter(({ said }) => said === 'reused')
  const noOther = ({ request, answeredAt }: Answered) =>
    !calls.some((other) => other.request !== null && other.request !== request && other.askedAt < answeredAt)
  return [
    ...reused
      .filter(({ request }) => owners.has(request))
      .map(({ request }) => `the request that it stands for was refused as another: ${request}`),
    ...reused.filter(noOther).map(({ request }) => `refused as another where there was no other: ${request}`),
  ]
}
const OF_THE_OWNER = new Set<Said>(['final', 'open', 'expired'])

/** Accepted or not is decided once: then every duplicate is told the same way, whatever it prefers. */
function oneManner(answered: readonly Answered[], calls: readonly Call[]): string[] {
  const accepted = answered.filter(({ told }) => told.status === 202)
  const direct = answered.find(({ told }) => told.code !== null && SYNCHRONOUS_CODES.has(told.code))
  if (accepted.length === 0) return []
  const wanted = calls.some(({ async, askedAt }) => async && askedAt < accepted[0]!.answeredAt)
  return [
    ...(direct ? [`accepted with 202, and yet somebody was told ${direct.told.status} ${direct.told.code}`] : []),
    ...(calls.some(({ async }) => async !== undefined) && !wanted ? ['accepted although nobody asked for that'] : []),
  ]
}

function oneResource(told: readonly { told: Told }[]): string[] {
  const ids = new Set(told.map(({ told }) => resourceOf(told)).filter((id) => id !== null))
  return ids.size > 1 ? [`it made ${ids.size} things: ${[...ids].join(', ')}`] : []
}

/** Once somebody has the final answer, whoever asks later gets it too, until the key expires. */
function afterFinal(call: Answered, known: readonly Known[]): string[] {
  const since = known.filter(
    ({ since, request }) => since < call.askedAt && (request === null || request === call.request),
  )
  if (since.length === 0) return []
  const { status } = since[0]!
  if (call.said === 'open' || (call.said === 'reused' && since.some(({ request }) => request !== null)))
    return [`told ${call.told.status} ${call.told.code ?? ''} after ${status} was known`]
  if (call.said !== 'final') return []
  const toldBefore = since.some(({ request }) => request !== null)
  return [
    ...(call.told.status !== status ? [`told ${call.told.status} after ${status} was known`] : []),
    ...(toldBefore && !call.told.replayed ? ['told as the first after it had been told before'] : []),
  ]
}

/** "Still running" speaks of somebody else's request. */
function runsForSomebody(call: Answered, calls: readonly Call[]): string[] {
  if (call.told.code !== 'idempotency_key_in_progress') return []
  const others = calls.filter((other) => other.request !== null && other.askedAt < call.answeredAt)
  return others.length > 1 ? [] : ['told that it is running when nobody else had asked']
}

/**
 * What has expired is not replayed again, and nothing expires before its time unless an operator says so: then a node
 * that has not heard of it may go on replaying for a second.
 */
function expiry(call: Answered, answered: readonly Answered[], endings: readonly Ending[]): string[] {
  const { told, said } = call
  const ended = endings.some(({ done, answeredAt }) => done && answeredAt + A_SECOND < call.askedAt)
  const mayBeEnded = endings.some(({ askedAt }) => askedAt < call.answeredAt)
  const lingersMs = mayBeEnded && told.replayed ? A_SECOND : 0
  const gone =
    ended || answered.some((other) => other.said === 'expired' && other.answeredAt + lingersMs < call.askedAt)
  if (said === 'final' || said === 'open') {
    if (gone) return [`told ${told.status} after it had expired`]
    const over = said === 'final' && told.expiresAt !== null && told.expiresAt + A_SECOND < call.askedAt
    return over ? [`replayed after ${new Date(told.expiresAt!).toISOString()}, when it expired`] : []
  }
  if (said !== 'expired') return []
  const promised = answered.filter(earlierThan(call)).map(({ told }) => told.expiresAt ?? 0)
  const final = answered.find((earlier) => earlier.said === 'final' && earlierThan(call)(earlier))
  const { response } = JSON.parse(told.body) as ProblemView
  return [
    ...(!mayBeEnded && promised.some((at) => at > call.answeredAt) ? ['expired before its time'] : []),
    ...(final && response?.status !== final.told.status
      ? [`expired as ${response?.status} although it was answered ${final.told.status}`]
      : []),
  ]
}

/** The record as its client may look it up tells the same story. */
function lookedUp(look: Call & { told: Told }, known: readonly Known[], answered: readonly Answered[]): string[] {
  const exists = answered.filter(earlierThan(look)).some(({ said }) => said === 'reused' || OF_THE_OWNER.has(said))
  if (look.told.status === 404 && exists) return ['not found when it was looked up, although it had been told of']
  const record = recordOf(look.told)
  const final = known.find(({ since }) => since < look.askedAt)
  if (!record || !final) return []
  return record.response?.status === final.status
    ? []
    : [`looked up as ${record.state} ${record.response?.status ?? ''} after ${final.status} was known`]
}

function recordOf({ status, body }: Told): RecordView | null {
  return status === 200 || status === 202 ? (JSON.parse(body) as RecordView) : null
}

function resourceOf(told: Told): string | null {
  if (told.status === 201) return told.location?.split('/').at(-1) ?? null
  const tells = told.status === 410 || recordOf(told)
  return tells ? ((JSON.parse(told.body) as Pick<RecordView, 'resource'>).resource?.id ?? null) : null
}
