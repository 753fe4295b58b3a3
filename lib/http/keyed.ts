// A keyed POST: authentication, media type, size, JSON, header, age, validation, store — in this order — and then
// the boundary. Every route that changes something for a client goes through here, whichever server it comes from.
import type { z } from 'zod'
import { databaseNowMs } from '../db/clock'
import { isUnavailable } from '../db/sqlstate'
import { type ParsedKey, parseKey, quoteKey } from '../idempotency/key'
import type { Input, Operation } from '../idempotency/operation'
import { type Outcome, run } from '../idempotency/run'
import { enqueueAccepted } from '../jobs/enqueue'
import type { Labels } from '../metrics/names'
import { type Services, services } from '../node/services'
import { withRequestId } from '../request-context'
import type { Tenant } from '../tenants/authenticate'
import type { Admission } from '../tenants/limits'
import { bearerFrom } from './bearer'
import { parseJson, readBytes } from './body'
import { countProblem } from './count-problem'
import { fromWeb, type Incoming } from './incoming'
import { headersOf, partsOf } from './outcome'
import { parsePrefer } from './prefer'
import { problem } from './problem'
import { requestIdFrom } from './request-id'
import { complete, failure, type Parts, toResponse } from './respond'
import { isStorable, validate } from './validate'

type Params = Record<string, string>

/** What Next calls, and what it comes to: the same for who has no use for a Request and a Response. */
export interface KeyedRoute {
  (request: Request, context: { params: Promise<Params> }): Promise<Response>
  readonly keyed: true
  answer(incoming: Incoming, params: Params): Promise<KeyedAnswer>
}

export interface KeyedAnswer extends Parts {
  /** Of an answer that is stored and final: what identifies it. */
  stored?: StoredAnswer
}

export interface StoredAnswer {
  recordId: string
  tenantId: string
  endpoint: string
  key: string
  createdAt: Date
  expiresAt: Date
}

interface Keyed<Schema extends z.ZodType> {
  body: Schema
  // biome-ignore lint/suspicious/noExplicitAny: what an operation reports is its own business
  operation: (services: Services) => Operation<z.infer<Schema>, any>
}

export function keyed<Schema extends z.ZodType>(endpoint: Keyed<Schema>): KeyedRoute {
  const answer: KeyedRoute['answer'] = async (incoming, params) => {
    const call: Call<Schema> = {
      ...endpoint,
      incoming,
      params,
      requestId: requestIdFrom(incoming.header('x-request-id')),
      labels: { endpoint: '', tenantId: '' },
      key: parseKey(incoming.header('idempotency-key')),
      headers: {},
    }
    const parts = await answerCall(call).catch((error: unknown) => {
      if (isUnavailable(error)) services().metrics.storeFailed(call.labels)
      return failure(error, call.requestId)
    })
    call.headers['x-request-id'] = call.requestId
    call.headers['idempotency-key'] = call.key.ok ? quoteKey(call.key.key) : null
    const completed = complete(parts, call.headers)
    countProblem(completed, call.labels.endpoint, call.labels.tenantId)
    return completed
  }
  const route = async (request: Request, context: { params: Promise<Params> }) =>
    toResponse(await answer(fromWeb(request), (await context.params) ?? {}))
  return Object.assign(route, { keyed: true as const, answer })
}

/** A request while it is answered, and what is known of it by then. */
interface Call<Schema extends z.ZodType = z.ZodType> extends Keyed<Schema> {
  incoming: Incoming
  params: Params
  requestId: string
  labels: Labels
  key: ParsedKey
  /** Those that go with the answer, besides its own. */
  headers: Record<string, string | null>
}

async function answerCall<Schema extends z.ZodType>(call: Call<Schema>): Promise<KeyedAnswer> {
  const { incoming, labels, key } = call
  const node = services()
  const operation = call.operation(node)
  labels.endpoint = operation.endpoint
  const apiKey = bearerFrom(incoming.header('authorization'))
  const tenant = apiKey === null ? null : await node.authenticator.authenticate(apiKey)
  if (!tenant) {
    await incoming.discard()
    return problem('unauthenticated')
  }
  labels.tenantId = tenant.id

  const read = await readBytes(incoming)
  if (!read.ok) return problem(read.code)
  const parsed = parseJson(read.bytes)
  if (!parsed.ok) return problem(parsed.code)
  if (!key.ok)
    return key.reason === 'missing'
      ? problem('idempotency_key_missing')
      : problem('idempotency_key_invalid', { detail: key.detail })
  if (isTooOld(incoming, node.config.maxRequestAgeMs)) return problem('request_too_old')
  const valid = validate(call.body, parsed.value)
  if (!valid.ok) return problem('invalid_request', { issues: valid.issues })
  // What no store can hold names nothing, and can't be remembered either.
  if (!Object.values(call.params).every(isStorable)) return problem('order_not_found')

  const input = { params: call.params, body: valid.value }
  return withRequestId(call.requestId, () => execute(call, operation, { tenant, key: key.key, input }))
}

interface Valid<Body> {
  tenant: Tenant
  key: string
  input: Input<Body>
}

async function execute<Schema extends z.ZodType>(
  call: Call<Schema>,
  operation: Operation<z.infer<Schema>, unknown>,
  { tenant, key, input }: Valid<z.infer<Schema>>,
): Promise<KeyedAnswer> {
  const node = services()
  const { requestId, labels, incoming } = call
  const prefer = preferencesOf(incoming)
  const admission = await node.limits.admit(tenant)
  let admitted = admission.ok
  // Ended as soon as it is known whether a record was created: who calls or waits takes nothing from the others.
  const endAdmission = (created: boolean) => {
    if (admitted) node.limits.end(tenant, created)
    admitted = false
  }
  try {
    const outcome = await run(node.boundary, operation, {
      tenantId: tenant.id,
      key,
      input,
      requestId,
      retentionHours: tenant.retentionHours,
      waitMs: (prefer.waitSeconds ?? 0) * 1000,
      acceptedAs: prefer.respondAsync ? enqueueAccepted : null,
      mayCreate: admission.ok,
      reserved: endAdmission,
      signal: () => incoming.signal,
    })
    if (outcome.kind === 'misuse') {
      const { record, stored } = outcome
      await node.misuse.record({ ...labels, recordId: record.id, key: record.key, requestId, stored, sent: input })
    }
    return answered(call, outcome, admission, key)
  } finally {
    endAdmission(false)
  }
}

function answered(call: Call, outcome: Outcome, admission: Admission, key: string): KeyedAnswer {
  services().metrics.answered(call.labels, outcome, (performance.now() - call.incoming.arrivedMs) / 1000)
  const prefer = preferencesOf(call.incoming)
  Object.assign(call.headers, headersOf(outcome, prefer))
  const parts = partsOf(outcome, admission, prefer)
  if (outcome.kind !== 'answered') return parts
  const { source, expiresAt } = outcome
  return { ...parts, stored: { ...call.labels, recordId: source.id, key, createdAt: source.createdAt, expiresAt } }
}

const preferencesOf = (incoming: Incoming) => parsePrefer(incoming.header('prefer'))

/** A Date far ahead would stay young for as long as its client likes; a client's clock may be fast by this much. */
const MAX_AHEAD_MS = 5 * 60_000

function isTooOld(incoming: Incoming, maxAgeMs: number | null): boolean {
  if (maxAgeMs === null) return false
  const ageMs = databaseNowMs() - Date.parse(incoming.header('date') ?? '')
  return !(ageMs <= maxAgeMs && ageMs >= -MAX_AHEAD_MS)
}
