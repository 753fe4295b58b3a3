// The grammar's start: any request that somebody could send to a node, most of them nearly right, so that they get far.
import fc from 'fast-check'
import { bodyLike, noBody, ORDER, REFUND } from './bodies'
import { authorization, contentType, extras, idempotencyKey, type Line } from './headers'
import { operatorRequest } from './operator-calls'
import { METHODS, NOWHERE, nowhere, query, segment } from './paths'
import { type BadRequest, BROKEN_FRAMINGS } from './wire'

const client = authorization(['Bearer @api-key@'])
const NO_LINES = fc.constant<Line[]>([])

const keyedPost = (target: fc.Arbitrary<string>, example: unknown): fc.Arbitrary<BadRequest> =>
  fc
    .record({ target, lines: fc.tuple(client, contentType, idempotencyKey, extras), body: bodyLike(example) })
    .map(({ target, lines, body }) => ({ method: 'POST', target, headers: lines.flat(), ...body }))

const read = (target: fc.Arbitrary<string>, who = client): fc.Arbitrary<BadRequest> =>
  fc
    .record({ target, lines: fc.tuple(who, extras), body: noBody })
    .map(({ target, lines, body }) => ({ method: 'GET', target, headers: lines.flat(), ...body }))

const joined = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).map((segments) => `/${segments.join('/')}`)
const word = (text: string) => fc.constant(text)

const ORDERS = word('api/orders')
const order = segment('@order@', 'ord_none')
const placeOrder = keyedPost(
  fc.tuple(fc.constant('/api/orders'), query([])).map((parts) => parts.join('')),
  ORDER,
)
const clientRequest = fc.oneof(
  { weight: 6, arbitrary: placeOrder },
  { weight: 3, arbitrary: keyedPost(joined(ORDERS, order, word('refunds')), REFUND) },
  {
    weight: 2,
    arbitrary: read(
      fc.tuple(word('/api/orders'), query(['limit', 'cursor'], ['1', '100'])).map((parts) => parts.join('')),
    ),
  },
  { weight: 1, arbitrary: read(joined(ORDERS, order)) },
  { weight: 1, arbitrary: read(joined(ORDERS, order, word('refunds'), segment('@refund@', 'ref_none'))) },
  {
    weight: 1,
    arbitrary: read(
      fc
        .tuple(
          joined(word('api/idempotency-keys'), segment('@used-key@', 'none')),
          query(['endpoint'], ['POST%20/api/orders']),
        )
        .map((parts) => parts.join('')),
    ),
  },
)

/** Next itself answers 500 to a broken form that is sent to a page, before any code of ours could refuse it. */
const isForm = ({ headers }: BadRequest) => headers.some(([, value]) => value.startsWith('multipart/form-data'))

/** What is neither a client's nor an operator's: people at the door, providers, scrapers, load balancers. */
const others = fc.oneof(
  {
    weight: 1,
    arbitrary: keyedPost(fc.constant('/api/auth/sign-in'), { email: 'x@example.com', password: 'wrong one' }),
  },
  { weight: 1, arbitrary: keyedPost(fc.constant('/api/auth/sign-out'), {}) },
  {
    weight: 2,
    arbitrary: keyedPost(fc.constantFrom('/api/webhooks/sandbox', '/api/webhooks/stripe'), { id: 'evt_1', type: 'x' }),
  },
  {
    weight: 2,
    arbitrary: read(fc.constantFrom('/api/metrics', '/api/health', '/api/ready', '/api/openapi.json'), NO_LINES),
  },
  { weight: 4, arbitrary: read(nowhere) },
  { weight: 1, arbitrary: keyedPost(nowhere, ORDER).filter((request) => !isForm(request)) },
)

/** The same with a method that nobody meant. */
const otherMethod = (request: fc.Arbitrary<BadRequest>): fc.Arbitrary<BadRequest> =>
  fc.tuple(request, fc.constantFrom(...METHODS)).map(([one, method]) => ({ ...one, method }))

export const badRequest: fc.Arbitrary<BadRequest> = fc.oneof(
  { weight: 10, arbitrary: clientRequest },
  { weight: 10, arbitrary: operatorRequest },
  { weight: 3, arbitrary: others },
  { weight: 1, arbitrary: otherMethod(fc.oneof(clientRequest, others)) },
)

const RIGHT = { body: JSON.stringify(ORDER), padTo: undefined }

/** Right but for its end, which the server has to find out by itself, if it can. */
export const brokenRequest: fc.Arbitrary<BadRequest> = fc
  .tuple(
    fc.oneof(
      placeOrder.map((request) => ({ ...request, ...RIGHT })),
      operatorRequest.map((request) => ({ ...request, padTo: undefined })),
    ),
    fc.constantFrom(...BROKEN_FRAMINGS),
  )
  .map(([request, framing]) => ({ ...request, framing }))

const MAKES_NEXT_COMPLAIN: Line[] = [
  ['Next-Action', '%'],
  ['Host', '['],
  ['X-Forwarded-Host', '['],
]

/**
 * What Next logs with a stack. It decodes the source map of each of its bundles when it first has to, some 50 MB once
 * and for all: whoever measures what requests leave behind has that behind them.
 */
export const logged: BadRequest[] = NOWHERE.flatMap((target) =>
  MAKES_NEXT_COMPLAIN.flatMap((line) =>
    ['GET', 'POST'].map((method): BadRequest => ({ method, target, headers: [line], body: '', framing: 'length' })),
  ),
)
