// Which failures mean that the store can't be asked now, and which are bugs: only the former may open the circuit,
// be tried again, or become a 503.
import { describe, expect, it } from 'vitest'
import { isIntegrityViolation, isRetryable, isUnavailable, StoreUnavailable } from '../../lib/db/sqlstate'

const withCode = (code: string) => Object.assign(new Error('failed'), { code })

describe('the store counts as unavailable after an error', () => {
  it.each([
    ['08006', 'connection failure'],
    ['08P01', 'protocol violation'],
    ['28P01', 'wrong password'],
    ['3D000', 'no such database'],
    ['53300', 'too many connections'],
    ['53100', 'disk full'],
    ['57P01', 'admin shutdown'],
    ['57P03', 'cannot connect now'],
    ['57014', 'statement timeout'],
    ['25006', 'read-only: a primary that was demoted'],
    ['ECONNREFUSED', 'connection refused'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'broken pipe'],
    ['ETIMEDOUT', 'timeout'],
    ['ENOTFOUND', 'no such host'],
    ['EAI_AGAIN', 'no name server'],
    ['EHOSTUNREACH', 'no route'],
    ['ERR_STREAM_DESTROYED', 'write to a destroyed socket'],
    ['ERR_SOCKET_CLOSED', 'a closed socket'],
  ])('%s: %s', (code) => expect(isUnavailable(withCode(code))).toBe(true))

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
    'Query read timeout',
    'Cannot use a pool after calling end on the pool',
  ])('of node-postgres: %s', (message) => expect(isUnavailable(new Error(message))).toBe(true))

  it.each([
    ['0A000', 'cannot access temporary or unlogged relations during recovery'],
    ['55000', 'recovery is in progress'],
  ])('%s: %s', (code, message) => {
    expect(isUnavailable(Object.assign(new Error(message), { code }))).toBe(true)
    expect(isUnavailable(withCode(code))).toBe(false)
  })

  it('that the store itself reports as StoreUnavailable', () => {
    const cause = withCode('ECONNREFUSED')
    expect(isUnavailable(new StoreUnavailable(cause))).toBe(true)
    // known by its code: each of Next's bundles has a class of its own
    expect(isUnavailable(withCode('STORE_UNAVAILABLE'))).toBe(true)
  })
})

describe('an error that is a bug', () => {
  it.each([
    ['42601', 'syntax error'],
    ['42P01', 'no such table'],
    ['23505', 'unique violation'],
    ['23514', 'check violation'],
    ['22P02', 'invalid text'],
    ['40001', 'serialisation failure'],
    ['40P01', 'deadlock'],
    ['XX000', 'internal error'],
    ['ERR_INVALID_ARG_TYPE', 'a value of the wrong type'],
    ['ERR_OUT_OF_RANGE', 'a value out of range'],
    ['ERR_ASSERTION', 'an assertion'],
    ['MODULE_NOT_FOUND', 'a missing file'],
  ])('is not an unavailable store: %s, %s', (code) => expect(isUnavailable(withCode(code))).toBe(false))

  it.each([new TypeError('x is not a function'), null, undefined, 'text', { code: 5 }, {}])(
    'is not an unavailable store: %s',
    (bug) => expect(isUnavailable(bug)).toBe(false),
  )
})

describe('a failed transaction', () => {
  it.each(['40001', '40P01'])('is retried after %s', (code) => expect(isRetryable(withCode(code))).toBe(true))
  it.each(['23505', '57P01', 'ECONNRESET'])('is not retried after %s', (code) =>
    expect(isRetryable(withCode(code))).toBe(false),
  )
})

describe('an integrity violation', () => {
  it('is a unique or check violation, not a syntax error', () => {
    const violation = Object.assign(withCode('23505'), { constraint: 'tenants_name_key' })
    expect(isIntegrityViolation(violation)).toBe(true)
    expect(isIntegrityViolation(withCode('23514'))).toBe(true)
    expect(isIntegrityViolation(withCode('42601'))).toBe(false)
  })
})
