// A keyed POST: authentication, media type, size, JSON, header, age, validation, store — in this order — and then
// the boundary. Every route that changes something for a client goes through here.
import type { z } from 'zod'
import { databaseNowMs } from '../db/clock'
import { isUnavailable } from '../db/sqlstate'
import { parseKey, quoteKey } from '../idempotency/key'
import type { Operation } from '../idempotency/operation'
import { run } from '../idempotency/run'
import { enqueueAccepted } from '../jobs/enqueue'
import type { Labels } from '../metrics/names'
import { type Services, services } from '../node/services'
import { bearerOf } from './bearer'
import { discardBody, readJson } from './body'
import { headersOf, partsOf } from './outcome'
import { parsePrefer } from './prefer'
import { problem } from './problem'
import { failure, inRequest, type Parts, toResponse } from './respond'
import { isStorable, validate } from './validate'

type RouteContext = { params: Promise<Record<string, string>> }
type Route = (request: Request, context: RouteContext) => Promise<Response>

interface Keyed<Schema extends z.ZodType> {
  body: Schema
  // biome-ignore lint/suspicious/noExplicitAny: what an operation reports is its own business
  operation: (services: Services) => Operation<z.infer<Schema>, any>
}

export function keyed<Schema extends z.ZodType>(endpoint: Keyed<Schema>): Route {
  const route: Route = (request, context) =>
    inRequest(request, async (requestId) => {
      const key = parseKey(request.headers.get('idempotency-key'))
      const headers = { 'x-request-id': requestId, 'idempotency-key': key.ok ? quoteKey(key.key) : null }
      const asked: Asked = { requestId, startedMs: performance.now(), labels: { endpoint: '', tenantId: '' } }
      try {
        const answered = await answer(endpoint, request, (await context.params) ?? {}, key, asked)
        return toResponse(answered.parts, { ...headers, ...answered.headers })
      } catch (error) {
        if (isUnavailable(error)) services().metrics.storeFailed(asked.labels)
        return toResponse(failure(error, requestId), headers)
      }
    })
  return Object.assign(route, { keyed: true })
}

/** What is known of a request while it is answered. */
interface Asked {
  requestId: string
  startedMs: number
  labels: Labels
}

interface Answered {
  parts: Parts
  headers?: Record<string, string | null>
}

async function answer<Schema extends z.ZodType>(
  endpoint: Keyed<Schema>,
  request: Request,
  params: Record<string, string>,
  key: ReturnType<typeof parseKey>,
  { requestId, startedMs, labels }: Asked,
): Promise<Answered> {
  const node = services()
  const operation = endpoint.operation(node)
  labels.endpoint = operation.endpoint
  const apiKey = bearerOf(request)
  const tenant = apiKey === null ? null : await node.authenticator.authenticate(apiKey)
  if (!tenant) {
    await discardBody(request)
    return { parts: problem('unauthenticated') }
  }
  labels.tenantId = tenant.id

  const read = await readJson(request)
  if (!read.ok) return { parts: problem(read.code) }
  if (!key.ok)
    return {
      parts:
        key.reason === 'missing'
          ? problem('idempotency_key_missing')
          : problem('idempotency_key_invalid', { detail: key.detail }),
    }
  if (isTooOld(request, node.config.maxRequestAgeMs)) return { parts: problem('request_too_old') }
  const valid = validate(endpoint.body, read.value)
  if (!valid.ok) return { parts: problem('invalid_request', { issues: valid.issues }) }
  // What no store can hold names nothing, and can't be remembered either.
  if (!Object.values(params).every(isStorable)) return { parts: problem('order_not_found') }

  const prefer = parsePrefer(request.headers.get('prefer'))
  const admission = await node.limits.admit(tenant)
  const input = { params, body: valid.value }
  let admitted = admission.ok
  // Ended as soon as it is known whether a record was created: who calls or waits takes nothing from the others.
  const endAdmission = (created: boolean) => {
    if (admitted) node.limits.end(tenant, created)
    admitted = false
  }
  try {
    const outcome = await run(node.boundary, operation, {
      tenantId: tenant.id,
      key: key.key,
      input,
      requestId,
      retentionHours: tenant.retentionHours,
      waitMs: (prefer.waitSeconds ?? 0) * 1000,
      acceptedAs: prefer.respondAsync ? (recordId) => enqueueAccepted(recordId) : null,
      mayCreate: admission.ok,
      reserved: endAdmission,
      signal: request.signal,
    })
    node.metrics.answered(labels, outcome, (performance.now() - startedMs) / 1000)
    if (outcome.kind === 'misuse') {
      const { record, stored } = outcome
      await node.misuse.record({ ...labels, recordId: record.id, key: record.key, requestId, stored, sent: input })
    }
    return { parts: partsOf(outcome, admission), headers: headersOf(outcome, prefer) }
  } finally {
    endAdmission(false)
  }
}

function isTooOld(request: Request, maxAgeMs: number | null): boolean {
  if (maxAgeMs === null) return false
  const sentAt = Date.parse(request.headers.get('date') ?? '')
  return Number.isNaN(sentAt) || databaseNowMs() - sentAt > maxAgeMs
}
