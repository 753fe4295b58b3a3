import { describe, expect, it } from 'vitest'
import { keyed } from '../../lib/http/keyed'
import type { AnyOperatorCall } from '../../lib/http/operator-call'
import { OrderRequest } from '../../lib/orders/schema'
import { type Method, type RouteFile, routeFiles } from './route-files'

const CHANGING: readonly Method[] = ['POST', 'PUT', 'PATCH', 'DELETE']

/** Handlers that may change something without a key, each with the reason why that is safe. */
const UNKEYED: Record<string, string> = {
  'POST /api/webhooks/sandbox': 'deduplicated by the event’s id, which commits with what it moves',
  'POST /api/webhooks/stripe': 'deduplicated by the event’s id, which commits with what it moves',
  'POST /api/auth/sign-in': 'a second try is a second session, which ends by itself',
  'POST /api/auth/sign-out': 'who is signed out already stays so',
  'POST /api/[...unknown]': 'answers 404 to every method and touches nothing',
  'PUT /api/[...unknown]': 'answers 404 to every method and touches nothing',
  'PATCH /api/[...unknown]': 'answers 404 to every method and touches nothing',
  'DELETE /api/[...unknown]': 'answers 404 to every method and touches nothing',
}

interface Audit {
  keyed: string[]
  /** Neither keyed nor excused: a retry could do it twice. */
  uncovered: string[]
  /** Excused, but keyed or not there at all: an excuse that would hide the next mistake. */
  needless: string[]
}

type Marked = { keyed?: unknown; operatorCall?: AnyOperatorCall }

/** An operator's POST takes a key of its own; a PATCH says what shall be, and a DELETE of what is gone succeeds. */
const isCovered = (method: Method, { keyed, operatorCall }: Marked): boolean =>
  keyed === true || operatorCall?.method === method

function audit(routes: RouteFile[], excused: Record<string, string>): Audit {
  const found = routes.flatMap(({ path, handlers }) =>
    CHANGING.filter((method) => handlers[method]).map((method) => ({
      name: `${method} ${path}`,
      keyed: isCovered(method, handlers[method] as Marked),
    })),
  )
  const unkeyed = found.filter((handler) => !handler.keyed).map(({ name }) => name)
  return {
    keyed: found.filter((handler) => handler.keyed).map(({ name }) => name),
    uncovered: unkeyed.filter((name) => !(name in excused)),
    needless: Object.keys(excused).filter((name) => !unkeyed.includes(name)),
  }
}

describe('coverage of the idempotency boundary', () => {
  it('every mutating handler is keyed or listed as an exception with its reason', async () => {
    const { keyed, uncovered, needless } = audit(await routeFiles(), UNKEYED)
    expect(uncovered).toEqual([])
    expect(needless).toEqual([])
    expect(keyed).toEqual(expect.arrayContaining(['POST /api/orders', 'POST /api/orders/{id}/refunds']))
  })

  it('importing the routes creates no services', async () => {
    await routeFiles()
    const processWide = (globalThis as Record<symbol, unknown>)[Symbol.for('onceover.process-wide')]
    expect((processWide as Map<string, unknown> | undefined)?.has('services') ?? false).toBe(false)
  })
})

describe('the coverage audit', () => {
  const handler = async () => new Response()
  const covered = keyed({ body: OrderRequest, operation: (node) => node.placeOrder })

  it('passes a keyed handler', () => {
    expect(audit([{ path: '/api/a', handlers: { POST: covered } }], {})).toEqual({
      keyed: ['POST /api/a'],
      uncovered: [],
      needless: [],
    })
  })

  it.each(CHANGING)('refuses an unkeyed %s handler', (method) => {
    expect(audit([{ path: '/api/a', handlers: { [method]: handler } }], {}).uncovered).toEqual([`${method} /api/a`])
  })

  it.each([
    ['false', Object.assign(async () => new Response(), { keyed: false })],
    ['a string', Object.assign(async () => new Response(), { keyed: 'true' })],
  ])('refuses a handler whose keyed mark is %s', (_, marked) => {
    expect(audit([{ path: '/api/a', handlers: { POST: marked } }], {}).uncovered).toEqual(['POST /api/a'])
  })

  it('ignores handlers that only read', () => {
    const routes = [{ path: '/api/a', handlers: { GET: handler, HEAD: handler, OPTIONS: handler } }]
    expect(audit(routes, {})).toEqual({ keyed: [], uncovered: [], needless: [] })
  })

  it('applies an exception to its method and path only', () => {
    const routes = [{ path: '/api/a', handlers: { POST: handler, DELETE: handler } }]
    expect(audit(routes, { 'POST /api/a': 'said why' }).uncovered).toEqual(['DELETE /api/a'])
  })

  it('refuses an exception that no handler needs', () => {
    const excused = { 'POST /api/a': 'keyed by now', 'POST /api/gone': 'deleted by now' }
    expect(audit([{ path: '/api/a', handlers: { POST: covered } }], excused).needless).toEqual(Object.keys(excused))
  })
})
