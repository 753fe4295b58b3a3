// A keyed POST: authentication, media type, size, JSON, header, age, validation, store — in this order — and then
// the boundary. Every route that changes something for a client goes through here, whichever server it comes from.
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import { databaseNowMs } from '../db/clock'
import { isUnavailable } from '../db/sqlstate'
import type { Sent } from '../idempotency/answers'
import { type ParsedKey, parseKey, quoteKey } from '../idempotency/key'
import type { Input, Operation } from '../idempotency/operation'
import { fingerprintFor, type Outcome, replayOf, run } from '../idempotency/run'
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
import { isPlainRepeat, type Replay, replayed, sentBefore } from './replay'
import { requestIdFrom } from './request-id'
import { complete, failure, type Parts, toResponse } from './respond'
import { isStorable, validate } from './validate'

type Params = Record<string, string>

/** What Next calls, and what it comes to: the same for who has no use for a Request and a Response. */
export interface KeyedRoute {
  (request: Request, context: { params: Promise<Params> }): Promise<Response>
  readonly keyed: true
  /** @param startedMs when it arrived, by the monotonic clock; now, unless it is said */
  answer(incoming: Incoming, params: Params, startedMs?: number): Promise<Parts>
  /** Whether its body is worth reading before anything else is done with it. */
  mayReplay(headers: IncomingHttpHeaders): boolean
  /** At once, from this node's memory. */
  replay(repeated: Repeated): Replay | undefined
}

interface Repeated {
  headers: IncomingHttpHeaders
  params: Params
  bytes: Buffer
  startedMs: number
}

interface Keyed<Schema extends z.ZodType> {
  body: Schema
  // biome-ignore lint/suspicious/noExplicitAny: what an operation reports is its own business
  operation: (services: Services) => Operation<z.infer<Schema>, any>
}

export function keyed<Schema extends z.ZodType>(endpoint: Keyed<Schema>): KeyedRoute {
  const answer: KeyedRoute['answer'] = async (incoming, params, startedMs = performance.now()) => {
    const call: Call<Schema> = {
      ...endpoint,
      incoming,
      params,
      requestId: requestIdFrom(incoming.header('x-request-id')),
      startedMs,
      labels: { endpoint: '', tenantId: '' },
      headers: {},
    }
    const parts = await answerCall(call).catch((error: unknown) => {
      if (isUnavailable(error)) services().metrics.storeFailed(call.labels)
      return failure(error, call.requestId)
    })
    const key = call.key ?? keyOf(incoming)
    call.headers['x-request-id'] = call.requestId
    call.headers['idempotency-key'] = key.ok ? quoteKey(key.key) : null
    const completed = complete(parts, call.headers)
    countProblem(completed, call.labels.endpoint, call.labels.tenantId)
    return completed
  }
  const mayReplay: KeyedRoute['mayReplay'] = (headers) => isPlainRepeat(services(), headers)
  const replay: KeyedRoute['replay'] = ({ headers, params, bytes, startedMs }) => {
    const node = services()
    // Again: while the body was on its way the key may have been revoked.
    const tenant = node.authenticator.recall(headers.authorization)
    if (!tenant) return undefined
    const named = { tenantId: tenant.id, endpoint: endpoint.operation(node).endpoint, key: headers['idempotency-key'] }
    const finished = sentBefore(node, named, sentAs(headers['content-type'], params, bytes))
    return finished && replayed(node, finished, headers['x-request-id'], startedMs)
  }
  const route = async (request: Request, context: { params: Promise<Params> }) =>
    toResponse(await answer(fromWeb(request), (await context.params) ?? {}))
  return Object.assign(route, { keyed: true as const, answer, mayReplay, replay })
}

/** A request while it is answered, and what is known of it by then. */
interface Call<Schema extends z.ZodType = z.ZodType> extends Keyed<Schema> {
  incoming: Incoming
  params: Params
  requestId: string
  startedMs: number
  labels: Labels
  key?: ParsedKey
  /** Those that go with the answer, besides its own. */
  headers: Record<string, string | null>
}

const keyOf = (incoming: Incoming): ParsedKey => parseKey(incoming.header('idempotency-key'))

async function answerCall<Schema extends z.ZodType>(call: Call<Schema>): Promise<Parts> {
  const { incoming, labels } = call
  const node = services()
  const operation = call.operation(node)
  labels.endpoint = operation.endpoint
  const authorization = incoming.header('authorization')
  const tenant = node.authenticator.recall(authorization) ?? (await authenticated(node, bearerFrom(authorization)))
  if (!tenant) {
    await incoming.discard()
    return problem('unauthenticated')
  }
  labels.tenantId = tenant.id

  const read = await readBytes(incoming)
  if (!read.ok) return problem(read.code)
  const { maxRequestAgeMs } = node.config
  const sent = sentAs(incoming.header('content-type'), call.params, read.bytes)
  const known = sentBefore(node, { ...labels, key: incoming.header('idempotency-key') }, sent)
  if (known && !isTooOld(incoming, maxRequestAgeMs)) {
    call.key = { ok: true, key: known.key }
    return answered(call, replayOf(known), ADMITTED)
  }

  const parsed = parseJson(read.bytes)
  if (!parsed.ok) return problem(parsed.code)
  const key = keyOf(incoming)
  call.key = key
  if (!key.ok)
    return key.reason === 'missing'
      ? problem('idempotency_key_missing')
      : problem('idempotency_key_invalid', { detail: key.detail })
  if (isTooOld(incoming, maxRequestAgeMs)) return problem('request_too_old')
  const valid = validate(call.body, parsed.value)
  if (!valid.ok) return problem('invalid_request', { issues: valid.issues })
  // What no store can hold names nothing, and can't be remembered either.
  if (!Object.values(call.params).every(isStorable)) return problem('order_not_found')

  const input = { params: call.params, body: valid.value }
  const fingerprint = fingerprintFor(operation, input)
  const meant = node.boundary.answers?.find(tenant.id, operation.endpoint, key.key)
  if (meant?.fingerprint === fingerprint) return answered(call, replayOf(meant), ADMITTED)
  return withRequestId(call.requestId, () =>
    execute(call, operation, { tenant, key: key.key, input, fingerprint, sent }),
  )
}

const authenticated = async (node: Services, apiKey: string | null): Promise<Tenant | null> =>
  apiKey === null ? null : node.authenticator.authenticate(apiKey)

interface Valid<Body> {
  tenant: Tenant
  key: string
  input: Input<Body>
  fingerprint: string
  sent: Sent
}

async function execute<Schema extends z.ZodType>(
  call: Call<Schema>,
  operation: Operation<z.infer<Schema>, unknown>,
  { tenant, key, input, fingerprint, sent }: Valid<z.infer<Schema>>,
): Promise<Parts> {
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
      fingerprint,
      sent,
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
    return answered(call, outcome, admission)
  } finally {
    endAdmission(false)
  }
}

/** A replay is nobody's admission. */
const ADMITTED: Admission = { ok: true }

function answered(call: Call, outcome: Outcome, admission: Admission): Parts {
  services().metrics.answered(call.labels, outcome, (performance.now() - call.startedMs) / 1000)
  const prefer = preferencesOf(call.incoming)
  Object.assign(call.headers, headersOf(outcome, prefer))
  return partsOf(outcome, admission, prefer)
}

const preferencesOf = (incoming: Incoming) => parsePrefer(incoming.header('prefer'))

const sentAs = (contentType: string | null | undefined, params: Params, bytes: Buffer): Sent => ({
  params: Object.keys(params).length > 0 ? JSON.stringify(params) : '',
  contentType: contentType ?? '',
  body: bytes.toString('latin1'),
})

/** A Date far ahead would stay young for as long as its client likes; a client's clock may be fast by this much. */
const MAX_AHEAD_MS = 5 * 60_000

function isTooOld(incoming: Incoming, maxAgeMs: number | null): boolean {
  if (maxAgeMs === null) return false
  const ageMs = databaseNowMs() - Date.parse(incoming.header('date') ?? '')
  return !(ageMs <= maxAgeMs && ageMs >= -MAX_AHEAD_MS)
}
