// An operator's call: who, from where, may they, then what — and then the use case, which asks once more whether they
// may. The role comes before the question: somebody who may not is not told what is wrong with it.
import { idOf } from '../db/id'
import { fingerprint } from '../idempotency/fingerprint'
import { parseKey, quoteKey } from '../idempotency/key'
import { type OperatorServices, operatorServices } from '../node/operator-services'
import type { Actor, Call } from '../operators/actor'
import { callOf } from '../operators/actor'
import { isRefused, type Refused } from '../operators/refusal'
import { finishRequest, type RequestKey, releaseRequest, reserveRequest } from '../operators/requests'
import { withRequestId } from '../request-context'
import { bearerOf } from './bearer'
import { discardBody, readJson } from './body'
import { countProblem } from './count-problem'
import { fromWeb } from './incoming'
import type { AnyOperatorCall } from './operator-call'
import { isSameOrigin } from './origin'
import { problem } from './problem'
import { failure, json, type Parts, requestIdOf, type Streamed, toResponse } from './respond'
import { isStorable, validate } from './validate'

type RouteContext = { params: Promise<Record<string, string>> }

export function operatorRoute(call: AnyOperatorCall) {
  const route = (request: Request, context: RouteContext): Promise<Response> => {
    const requestId = requestIdOf(request)
    return withRequestId(requestId, async () => {
      const key = parseKey(request.headers.get('idempotency-key'))
      const headers = {
        'x-request-id': requestId,
        'idempotency-key': call.method === 'POST' && key.ok ? quoteKey(key.key) : null,
      }
      const params = (await context?.params) ?? {}
      const answered = await answer(call, request, params, key, requestId).catch((error) => failure(error, requestId))
      countProblem(answered, `${call.method} ${call.path}`)
      return toResponse(answered, headers)
    })
  }
  return Object.assign(route, { operatorCall: call })
}

async function answer(
  call: AnyOperatorCall,
  request: Request,
  params: Record<string, string>,
  key: ReturnType<typeof parseKey>,
  requestId: string,
): Promise<Parts | Streamed> {
  const services = operatorServices()
  const identified = await identify(call, request, services)
  if ('refusal' in identified) {
    await discardBody(request)
    return identified.refusal
  }
  const action = call.does(services)
  const by = callOf(identified.actor, requestId)
  const target = params.id && isStorable(params.id) ? params.id.slice(0, 100) : null
  const forbidden = await action.authorize(by, target)
  if (forbidden) {
    await discardBody(request)
    return refusal(forbidden)
  }
  const asked = await readQuestion(call, request, params)
  if ('refusal' in asked) return asked.refusal
  if (call.stream) return runStreamed(call, services, by, asked)
  if (call.method !== 'POST' || (!key.ok && key.reason === 'missing')) return run(call, services, by, asked)
  if (!key.ok) return problem('idempotency_key_invalid', { detail: key.detail })
  return runOnce(call, services, by, asked, key.key)
}

/** A bad token is not made good by a cookie that happens to come along. */
async function identify(
  call: AnyOperatorCall,
  request: Request,
  services: OperatorServices,
): Promise<{ actor: Actor } | { refusal: Parts }> {
  const refusal = () => {
    services.countUnauthenticated()
    return {
      refusal: problem('unauthenticated', { detail: 'Sign in, or send an operator token as Authorization: Bearer.' }),
    }
  }
  if (request.headers.has('authorization')) {
    const token = bearerOf(request)
    const actor = token === null ? null : await services.actorOfToken(token)
    return actor ? { actor } : refusal()
  }
  const actor = await services.actorOfSession(request.headers)
  if (!actor) return refusal()
  // A session comes along with whatever the browser is made to send: a change must come from our own pages.
  if (call.method !== 'GET' && !isSameOrigin(request)) return { refusal: problem('cross_origin') }
  return { actor }
}

interface Question {
  params: Record<string, string>
  query: unknown
  body: unknown
}

async function readQuestion(
  call: AnyOperatorCall,
  request: Request,
  params: Record<string, string>,
): Promise<Question | { refusal: Parts }> {
  for (const [name, shape] of Object.entries(call.params ?? {}))
    if (!shape.test(params[name] ?? '')) {
      await discardBody(request)
      return { refusal: problem('not_found') }
    }
  const question: Question = { params, query: undefined, body: undefined }
  if (call.query) {
    const query = validate(call.query, queryOf(request))
    if (!query.ok) return { refusal: problem('invalid_request', { issues: query.issues }) }
    question.query = query.value
  }
  if (call.body) {
    const read = await readOptionalJson(request)
    if (!read.ok) return { refusal: problem(read.code) }
    const body = validate(call.body, read.value)
    if (!body.ok) return { refusal: problem('invalid_request', { issues: body.issues }) }
    question.body = body.value
  } else await discardBody(request)
  return question
}

/** No body at all says as much as an empty object: whether that is enough is the schema's business. */
async function readOptionalJson(request: Request): ReturnType<typeof readJson> {
  const hasBody = request.body !== null && request.headers.get('content-length') !== '0'
  return hasBody ? readJson(fromWeb(request)) : { ok: true, value: {} }
}

/** A parameter that is given more than once is a list; whether it may be is the schema's business. */
function queryOf(request: Request): Record<string, string | string[]> {
  const { searchParams } = new URL(request.url)
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => {
      const values = searchParams.getAll(name)
      return [name, values.length > 1 ? values : values[0]!]
    }),
  )
}

async function run(call: AnyOperatorCall, services: OperatorServices, by: Call, asked: Question): Promise<Parts> {
  const output = await call.does(services)(by, call.input(asked))
  if (isRefused(output)) return refusal(output)
  if (call.answer.status === 204) return { status: 204, headers: {}, body: '' }
  return json(call.answer.status, call.present ? call.present(output) : output)
}

async function runStreamed(
  call: AnyOperatorCall,
  services: OperatorServices,
  by: Call,
  asked: Question,
): Promise<Parts | Streamed> {
  const output = await call.does(services)(by, call.input(asked))
  return isRefused(output) ? refusal(output) : call.stream!(output, asked)
}

async function runOnce(
  call: AnyOperatorCall,
  services: OperatorServices,
  by: Call,
  asked: Question,
  key: string,
): Promise<Parts> {
  const { store } = services
  const at: RequestKey = { actorId: by.actor.id, call: `${call.method} ${call.path}`, key }
  const { params } = asked
  const body = call.withoutSecrets ? call.withoutSecrets(asked.body) : asked.body
  const print = fingerprint({ method: call.method, endpoint: call.path, params, body: body ?? null })
  const reserved = await reserveRequest(store, at, print)
  switch (reserved.kind) {
    case 'reused':
      return problem('idempotency_key_reused')
    case 'running':
      return problem('idempotency_key_in_progress')
    case 'finished': {
      const replayed = { 'idempotent-replayed': 'true' }
      if (call.showsSecret && reserved.status < 300) return problem('already_created')
      const contentType = reserved.status < 300 ? 'application/json' : 'application/problem+json'
      return { status: reserved.status, headers: { 'content-type': contentType, ...replayed }, body: reserved.body }
    }
  }
  const once: Call = { ...by, newId: (prefix) => idOf(prefix, reserved.resourceId) }
  const parts = await run(call, services, once, asked).catch(async (error) => {
    await releaseRequest(store, at).catch(() => {})
    throw error
  })
  await finishRequest(store, at, {
    status: parts.status,
    body: call.showsSecret && parts.status < 300 ? '' : parts.body,
  })
  return parts
}

function refusal({ refused, ...details }: Refused): Parts {
  return problem(refused, details)
}
