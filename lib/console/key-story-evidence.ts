// What was asked for, what we have, and what the provider has, side by side. A field differs only where two sides that
// were really looked at say different things: what nobody fetched is said to be so, and never counted.
import type { OrderRequest, RefundRequest } from '../orders/schema'
import type { KeyDetail } from './key-detail'

export type Cell =
  | { kind: 'text'; text: string }
  | { kind: 'word'; word: string }
  | { kind: 'money'; cents: number; currency: string }
  | { kind: 'instant'; at: string }
  | { kind: 'items'; items: OrderRequest['items']; currency: string }
  | { kind: 'masked'; field: 'paymentMethod' | 'note' | 'reason' }
  /** Nothing to compare with, and why. */
  | { kind: 'nothing'; why: string }

export interface ComparedField {
  name: string
  request: Cell
  ours: Cell
  provider: Cell
  differs: boolean
  /** How, where that says more than the two values. */
  remark: 'only there' | 'only here' | { moreCents: number; currency: string } | null
}

/** The provider's object, as it was last seen. */
export interface Seen {
  at: string
  source: 'look_up' | 'webhook' | 'late_owner' | 'owner' | 'operator'
  verdict: 'succeeded' | 'declined' | 'not_found' | 'pending' | 'unreachable' | 'unfinished' | 'not_executed'
  ref: string | null
  /** What it says of itself, where that was fetched. */
  object: { amountCents: number; currency: string; orderId?: string | null; createdAt?: string } | null
}

const NONE: Cell = { kind: 'nothing', why: '–' }
const NOT_FETCHED: Cell = { kind: 'nothing', why: 'not fetched' }
const text = (value: string | null | undefined): Cell => (value ? { kind: 'text', text: value } : NONE)

/** What is booked for the key itself, unless that was reversed. */
export const bookingOf = (ledger: KeyDetail['ledger']) => ledger.find(({ own, reversedAt }) => own && !reversedAt)

/** What is booked stands for itself: a person may have accepted other money than was asked for. */
function ours(ledger: KeyDetail['ledger'], asked: { cents: number; currency: string } | null) {
  const booking = bookingOf(ledger)
  return booking ? { cents: booking.amountCents, currency: booking.currency } : asked
}

/** The latest that the provider itself said; its word in a call is as good as in a look-up, and says less. */
export function seenOf({ evidence, ledger }: Pick<KeyDetail, 'evidence' | 'ledger'>): Seen | null {
  const said = evidence.filter(({ source }) => source !== 'operator')
  const best = said.findLast(({ verdict }) => verdict === 'succeeded') ?? said.at(-1)
  if (best) {
    const { createdAt: at, source, verdict, ref, object } = best
    return { at, source: source as Seen['source'], verdict, ref, object }
  }
  const own = bookingOf(ledger)
  if (!own) return null
  const source = evidence.some((one) => one.source === 'operator') ? 'operator' : 'owner'
  const verdict = own.status === 'succeeded' ? 'succeeded' : 'declined'
  return { at: own.createdAt, source, verdict, ref: own.providerRef, object: null }
}

/** Types only: this runs in browsers too. */
export type Compared = Pick<KeyDetail, 'record' | 'order' | 'refund' | 'ledger' | 'request'> & { providerKey: string }

export function compare(detail: Compared, seen: Seen | null): ComparedField[] {
  return detail.record.endpoint.endsWith('/refunds') ? compareRefund(detail, seen) : compareOrder(detail, seen)
}

function compareOrder(detail: Compared, seen: Seen | null): ComparedField[] {
  const { order, request, record } = detail
  const asked = request?.body as Partial<OrderRequest> | undefined
  const wanted: Cell =
    asked?.items && asked.currency
      ? {
          kind: 'money',
          cents: asked.items.reduce((sum, item) => sum + item.quantity * item.unitPriceCents, 0),
          currency: asked.currency,
        }
      : erased(detail)
  const items = (list: OrderRequest['items'] | undefined, currency = 'USD'): Cell =>
    list ? { kind: 'items', items: list, currency } : NONE
  return [
    reference(detail, seen),
    status(order?.status ?? null, seen),
    amount(wanted, ours(detail.ledger, order && { cents: order.amountCents, currency: order.currency }), seen),
    field('Order', NONE, text(order?.id), fromKey(seen)),
    field('Customer', asked ? text(asked.customerId) : erased(detail), text(order?.customerId), fromKey(seen)),
    field(
      'Items',
      asked ? items(asked.items, asked.currency) : erased(detail),
      items(order?.items, order?.currency),
      seen ? { kind: 'nothing', why: 'not kept by the provider' } : NOT_FETCHED,
    ),
    field('Payment method', masked(detail, 'paymentMethod'), { kind: 'nothing', why: 'as requested' }, fromKey(seen)),
    ...noteOf(detail),
    created(record.createdAt, order?.createdAt, seen),
    sentOn(detail.providerKey, seen),
  ]
}

/** Only where the client wrote one. */
function noteOf(detail: Compared): ComparedField[] {
  const note = masked(detail, 'note')
  if (note.kind !== 'masked') return []
  return [field('Note', note, { kind: 'nothing', why: 'as requested' }, { kind: 'nothing', why: 'not sent on' })]
}

function compareRefund(detail: Compared, seen: Seen | null): ComparedField[] {
  const { order, refund, request, record } = detail
  const asked = request?.body as RefundRequest | undefined
  const currency = order?.currency ?? 'USD'
  const wanted: Cell =
    asked === undefined
      ? erased(detail)
      : asked.amountCents === undefined
        ? { kind: 'word', word: 'all that is left' }
        : { kind: 'money', cents: asked.amountCents, currency }
  return [
    reference(detail, seen),
    status(refund?.status ?? null, seen),
    amount(wanted, ours(detail.ledger, refund && { cents: refund.amountCents, currency }), seen),
    field('Order', text(request?.params.id), text(refund?.orderId ?? order?.id), fromKey(seen)),
    field('Customer', NONE, text(order?.customerId), fromKey(seen)),
    field('Reason', masked(detail, 'reason'), { kind: 'nothing', why: 'as requested' }, fromKey(seen)),
    created(record.createdAt, refund?.createdAt, seen),
    sentOn(detail.providerKey, seen),
  ]
}

const erased = ({ request }: Compared): Cell => (request ? NONE : { kind: 'nothing', why: 'erased' })

function masked({ request }: Compared, field: 'paymentMethod' | 'reason' | 'note'): Cell {
  if (!request) return { kind: 'nothing', why: 'erased' }
  const body = request.body as Record<string, unknown> | null
  return body?.[field] === undefined ? NONE : { kind: 'masked', field }
}

/** Our own key found it: what else the object carries was not read. */
function fromKey(seen: Seen | null): Cell {
  if (seen?.verdict === 'not_found') return NONE
  return NOT_FETCHED
}

/** Two values of one kind that are not the same. */
const differ = (a: Cell, b: Cell): boolean =>
  a.kind !== 'nothing' && a.kind !== 'masked' && a.kind === b.kind && JSON.stringify(a) !== JSON.stringify(b)

function field(name: string, request: Cell, ours: Cell, provider: Cell): ComparedField {
  const differs = differ(request, ours) || differ(ours, provider) || differ(request, provider)
  return { name, request, ours, provider, differs, remark: null }
}

const WITHOUT_ANSWER: readonly Seen['verdict'][] = ['unreachable', 'unfinished', 'pending']

function reference({ ledger }: Compared, seen: Seen | null): ComparedField {
  const own = bookingOf(ledger)?.providerRef ?? null
  const ours = text(own)
  const there = seen?.ref ?? null
  const provider = seen ? text(there) : NOT_FETCHED
  const looked = seen !== null && !WITHOUT_ANSWER.includes(seen.verdict)
  const remark = looked && there && !own ? 'only there' : looked && own && !there ? 'only here' : null
  return { name: 'Reference', request: NONE, ours, provider, differs: looked && own !== there, remark }
}

/** What each of our words is at the provider. */
const AGREES: Partial<Record<Seen['verdict'], readonly string[]>> = {
  succeeded: ['paid', 'partially_refunded', 'refunded', 'succeeded'],
  declined: ['declined'],
  not_found: ['pending_payment', 'pending', 'abandoned', 'released'],
}

function status(ours: string | null, seen: Seen | null): ComparedField {
  const agrees = seen && AGREES[seen.verdict]
  const provider: Cell = !seen
    ? NOT_FETCHED
    : seen.verdict === 'not_found'
      ? { kind: 'nothing', why: 'nothing there' }
      : seen.verdict === 'unreachable'
        ? { kind: 'nothing', why: 'could not be asked' }
        : seen.verdict === 'unfinished'
          ? { kind: 'nothing', why: 'being continued' }
          : text(seen.verdict)
  const differs = Boolean(agrees && ours && !agrees.includes(ours))
  return { name: 'Status', request: NONE, ours: text(ours), provider, differs, remark: null }
}

function amount(request: Cell, ours: { cents: number; currency: string } | null, seen: Seen | null): ComparedField {
  const object = seen?.object
  const provider: Cell = object
    ? { kind: 'money', cents: object.amountCents, currency: object.currency }
    : fromKey(seen)
  const mine: Cell = ours ? { kind: 'money', ...ours } : NONE
  const compared = field('Amount', request, mine, provider)
  if (!object || !ours || object.currency !== ours.currency || object.amountCents === ours.cents) return compared
  return { ...compared, remark: { moreCents: object.amountCents - ours.cents, currency: ours.currency } }
}

/** Each side writes its own down: they never agree, and need not. */
function created(requestedAt: string, ours: string | undefined, seen: Seen | null): ComparedField {
  const at = (instant: string | undefined): Cell => (instant ? { kind: 'instant', at: instant } : NONE)
  const provider = seen?.object ? at(seen.object.createdAt) : fromKey(seen)
  return { name: 'Created', request: at(requestedAt), ours: at(ours), provider, differs: false, remark: null }
}

function sentOn(providerKey: string, seen: Seen | null): ComparedField {
  const key = text(providerKey)
  const found = seen !== null && seen.ref !== null && seen.source !== 'operator'
  return field('Idempotency key sent on', NONE, key, found ? key : fromKey(seen))
}
