import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { signPayload, verifySignature } from '../../lib/payments/webhook-signature'

const BODY = '{"id":"evt_1","note":"grün"}'
const SECRET = 'whsec_test'
const NOW_MS = 1_800_000_000_900
const NOW = Math.floor(NOW_MS / 1000)
const GOOD = signPayload(BODY, SECRET, NOW)
const [, GOOD_V1] = GOOD.split(',')
const OTHER_V1 = `v1=${'0'.repeat(64)}`

const verify = (header: string | null, { body = BODY, secret = SECRET, nowMs = NOW_MS } = {}) =>
  verifySignature(body, header, secret, 300, nowMs)

describe('a webhook signature', () => {
  it('equals the one that Stripe’s library makes', () => {
    const theirs = Stripe.webhooks.generateTestHeaderString({ payload: BODY, secret: SECRET, timestamp: NOW })
    expect(GOOD).toBe(theirs)
    expect(verify(theirs)).toBe(true)
  })

  it.each([
    ['one of several v1', `t=${NOW},${OTHER_V1},${GOOD_V1}`],
    ['next to another scheme', `t=${NOW},v0=abc,${GOOD_V1}`],
    ['with spaces after commas', `t=${NOW}, ${GOOD_V1}`],
    ['as old as is allowed', signPayload(BODY, SECRET, NOW - 300)],
    ['as far ahead as is allowed', signPayload(BODY, SECRET, NOW + 300)],
  ])('is accepted: %s', (_, header) => {
    expect(verify(header)).toBe(true)
  })

  it.each([
    ['none', null],
    ['empty', ''],
    ['garbage', '=,=,,t,v1'],
    ['no timestamp', String(GOOD_V1)],
    ['no v1', `t=${NOW}`],
    ['v0 only', `t=${NOW},${GOOD_V1?.replace('v1', 'v0')}`],
    ['another v1', `t=${NOW},${OTHER_V1}`],
    ['a shorter v1', GOOD.slice(0, -2)],
    ['a longer v1', `${GOOD}00`],
    ['v1 that is not hex', `t=${NOW},v1=${'z'.repeat(64)}`],
    ['another timestamp than was signed', `t=${NOW - 1},${GOOD_V1}`],
    ['two timestamps', `t=${NOW - 9999},${GOOD},`],
    ['a timestamp with a leading zero', `t=0${NOW},${GOOD_V1}`],
    ['a negative timestamp', `t=-1,${GOOD_V1}`],
    ['too old', signPayload(BODY, SECRET, NOW - 301)],
    ['too far ahead', signPayload(BODY, SECRET, NOW + 301)],
    ['of another secret', signPayload(BODY, 'whsec_other', NOW)],
  ])('is refused: %s', (_, header) => {
    expect(verify(header)).toBe(false)
  })

  it('is refused for another body', () => {
    expect(verify(GOOD, { body: `${BODY}\n` })).toBe(false)
  })

  it('is refused when the secret is empty', () => {
    expect(verify(signPayload(BODY, '', NOW), { secret: '' })).toBe(false)
  })
})
