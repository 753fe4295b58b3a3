import { describe, expect, it } from 'vitest'
import { compare, type Seen, seenOf } from '../../lib/console/key-story-evidence'
import { aKey, aRefund, at, booked, evidence } from './a-key'

const compared = (detail: ReturnType<typeof aKey>, seen: Seen | null = seenOf(detail)) =>
  compare({ ...detail, providerKey: `onceover-${detail.record.id}` }, seen)
const differing = (...args: Parameters<typeof compared>) =>
  compared(...args)
    .filter(({ differs }) => differs)
    .map(({ name }) => name)
const fetched = (object: Seen['object'], changes: Partial<Seen> = {}): Seen => ({
  at: at(90),
  source: 'look_up',
  verdict: 'succeeded',
  ref: 'ch_7Qm',
  object,
  ...changes,
})
const PAID = { ...aKey('completed').order!, status: 'paid' as const }

describe('the provider’s evidence about a key', () => {
  it('is the provider’s latest statement, a charge before anything else', () => {
    const said = [
      evidence(10, { verdict: 'declined', ref: 'ch_no' }),
      evidence(20),
      evidence(30, { verdict: 'not_found', ref: null }),
    ]
    expect(seenOf(aKey('unknown', { evidence: said }))).toMatchObject({ ref: 'ch_7Qm', at: at(20) })
    expect(seenOf(aKey('unknown', { evidence: said.filter(({ verdict }) => verdict !== 'succeeded') }))).toMatchObject({
      verdict: 'not_found',
    })
  })

  it('is the answer to the owner when there was no later lookup', () => {
    expect(seenOf(aKey('completed', { ledger: [booked()] }))).toMatchObject({ source: 'owner', object: null })
  })

  it('is an operator’s statement when there is no lookup', () => {
    const word = evidence(10, { source: 'operator' })
    expect(seenOf(aKey('completed', { ledger: [booked()], evidence: [word] }))).toMatchObject({ source: 'operator' })
  })

  it('is empty before anything was fetched', () => {
    expect(seenOf(aKey('unknown'))).toBeNull()
    expect(seenOf(aKey('unknown', { ledger: [booked({ own: false })] }))).toBeNull()
  })
})

describe('the comparison of a key with the provider', () => {
  it('marks no difference when nothing was fetched', () => {
    expect(differing(aKey('unknown'))).toEqual([])
    expect(compared(aKey('unknown'))).toHaveLength(9)
  })

  it('marks reference, status and amount of an unbooked charge with another amount', () => {
    const seen = fetched({ amountCents: 19_095, currency: 'USD', createdAt: at(1) })
    expect(differing(aKey('unknown'), seen)).toEqual(['Reference', 'Status', 'Amount'])
    const fields = compared(aKey('unknown'), seen)
    expect(fields.find(({ name }) => name === 'Reference')!.remark).toBe('only there')
    expect(fields.find(({ name }) => name === 'Amount')!.remark).toEqual({ moreCents: 645, currency: 'USD' })
  })

  it('marks nothing when all sides agree', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    expect(differing(detail, fetched({ amountCents: 18_450, currency: 'USD', createdAt: at(1) }))).toEqual([])
  })

  it('marks another currency without computing a difference', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    const [amount] = compared(detail, fetched({ amountCents: 18_450, currency: 'EUR' })).filter(
      ({ differs }) => differs,
    )
    expect(amount).toMatchObject({ name: 'Amount', remark: null })
  })

  it('marks a booking that the provider does not have', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    const seen = fetched(null, { verdict: 'not_found', ref: null })
    expect(differing(detail, seen)).toEqual(['Reference', 'Status'])
    expect(compared(detail, seen)[0]!.remark).toBe('only here')
  })

  it('marks nothing when the provider is unreachable or undecided', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    for (const verdict of ['unreachable', 'pending'] as const)
      expect(differing(detail, fetched(null, { verdict, ref: null }))).toEqual([])
  })

  it('says that the request is erased instead of comparing with it', () => {
    const cells = compared(aKey('expired', { request: null })).map(({ request }) => request)
    expect(cells).toContainEqual({ kind: 'nothing', why: 'erased' })
  })

  it('masks the payment method, and the note if there is one', () => {
    const detail = aKey('unknown')
    const body = { ...(detail.request!.body as object), note: '••••••' }
    const fields = compared({ ...detail, request: { params: {}, body } })
    expect(fields.filter(({ request }) => request.kind === 'masked').map(({ name }) => name)).toEqual([
      'Payment method',
      'Note',
    ])
  })

  it('of a refund compares the amount of the refund, not the items of the order', () => {
    const seen = fetched({ amountCents: 600, currency: 'USD', createdAt: at(2) }, { ref: 're_1' })
    const detail = aRefund('unknown')
    expect(differing(detail, seen)).toEqual(['Reference', 'Status', 'Amount'])
    expect(compared(detail, seen).map(({ name }) => name)).not.toContain('Items')
    const whole = { ...detail, request: { params: { id: 'ord_1' }, body: {} } }
    expect(compared(whole, null).find(({ name }) => name === 'Amount')!.request).toEqual({
      kind: 'word',
      word: 'all that is left',
    })
  })
})
