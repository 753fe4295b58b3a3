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

describe('what the provider has', () => {
  it('is the latest that it said itself, a charge before anything else', () => {
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

  it('is what it answered the owner, where nobody asked again', () => {
    expect(seenOf(aKey('completed', { ledger: [booked()] }))).toMatchObject({ source: 'owner', object: null })
  })

  it('is an operator’s word where that is all there is', () => {
    const word = evidence(10, { source: 'operator' })
    expect(seenOf(aKey('completed', { ledger: [booked()], evidence: [word] }))).toMatchObject({ source: 'operator' })
  })

  it('is not known before anybody fetched it', () => {
    expect(seenOf(aKey('unknown'))).toBeNull()
    expect(seenOf(aKey('unknown', { ledger: [booked({ own: false })] }))).toBeNull()
  })
})

describe('the comparison', () => {
  it('counts nothing that was not fetched', () => {
    expect(differing(aKey('unknown'))).toEqual([])
    expect(compared(aKey('unknown'))).toHaveLength(9)
  })

  it('marks what an unbooked object of another amount differs in', () => {
    const seen = fetched({ amountCents: 19_095, currency: 'USD', createdAt: at(1) })
    expect(differing(aKey('unknown'), seen)).toEqual(['Reference', 'Status', 'Amount'])
    const fields = compared(aKey('unknown'), seen)
    expect(fields.find(({ name }) => name === 'Reference')!.remark).toBe('only there')
    expect(fields.find(({ name }) => name === 'Amount')!.remark).toEqual({ moreCents: 645, currency: 'USD' })
  })

  it('marks nothing where all agree', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    expect(differing(detail, fetched({ amountCents: 18_450, currency: 'USD', createdAt: at(1) }))).toEqual([])
  })

  it('marks another currency, and does not subtract it', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    const [amount] = compared(detail, fetched({ amountCents: 18_450, currency: 'EUR' })).filter(
      ({ differs }) => differs,
    )
    expect(amount).toMatchObject({ name: 'Amount', remark: null })
  })

  it('marks what we booked and the provider does not have', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    const seen = fetched(null, { verdict: 'not_found', ref: null })
    expect(differing(detail, seen)).toEqual(['Reference', 'Status'])
    expect(compared(detail, seen)[0]!.remark).toBe('only here')
  })

  it('takes a provider that could not be asked for no answer', () => {
    const detail = aKey('completed', { order: PAID, ledger: [booked()] })
    for (const verdict of ['unreachable', 'pending'] as const)
      expect(differing(detail, fetched(null, { verdict, ref: null }))).toEqual([])
  })

  it('says that the request is erased instead of comparing with it', () => {
    const cells = compared(aKey('expired', { request: null })).map(({ request }) => request)
    expect(cells).toContainEqual({ kind: 'nothing', why: 'erased' })
  })

  it('masks how the customer paid, and a note where there is one', () => {
    const detail = aKey('unknown')
    const body = { ...(detail.request!.body as object), note: '••••••' }
    const fields = compared({ ...detail, request: { params: {}, body } })
    expect(fields.filter(({ request }) => request.kind === 'masked').map(({ name }) => name)).toEqual([
      'Payment method',
      'Note',
    ])
  })

  it('of a refund compares the refund', () => {
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
