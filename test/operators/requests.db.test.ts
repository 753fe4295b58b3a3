// An operator's POST with a key: one result for a key, and no second run whatever became of the first one.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { finishRequest, type RequestKey, releaseRequest, reserveRequest } from '../../lib/operators/requests'
import { type Bench, openBench } from '../support/boundary'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())

const fresh = (): RequestKey => ({ actorId: 'opr_test', call: 'POST /api/test', key: randomUUID() })
const reserve = (at: RequestKey, print = 'v1:a') => reserveRequest(bench.store, at, print)
const age = (at: RequestKey, by: string) =>
  bench.db.query(`UPDATE operator_requests SET reserved_at = reserved_at - $2::interval WHERE key = $1`, [at.key, by])

describe('an operator’s Idempotency-Key', () => {
  it('starts one run, then returns its result, and is refused for another request', async () => {
    const at = fresh()
    expect(await reserve(at)).toEqual({ kind: 'run', resourceId: expect.stringMatching(/^[0-9a-z]{26}$/) })
    expect(await reserve(at)).toEqual({ kind: 'running' })
    expect(await reserve(at, 'v1:other')).toEqual({ kind: 'reused' })
    await finishRequest(bench.store, at, { status: 201, body: '{}' })
    expect(await reserve(at)).toEqual({ kind: 'finished', status: 201, body: '{}' })
    expect(await reserve(at, 'v1:other')).toEqual({ kind: 'reused' })
  })

  it('starts one run for many concurrent requests', async () => {
    const at = fresh()
    const reserved = await Promise.all(Array.from({ length: 20 }, () => reserve(at)))
    expect(reserved.filter(({ kind }) => kind === 'run')).toHaveLength(1)
  })

  it('is separate for each actor and for each call', async () => {
    const at = fresh()
    for (const other of [at, { ...at, actorId: 'opr_other' }, { ...at, call: 'POST /api/other' }])
      expect(await reserve(other)).toMatchObject({ kind: 'run' })
  })
})

describe('an operator’s request with an Idempotency-Key', () => {
  it('that failed can run again at once, with the same resource id', async () => {
    const at = fresh()
    const first = await reserve(at)
    await releaseRequest(bench.store, at)
    expect(await reserve(at, 'v1:other')).toEqual({ kind: 'reused' })
    expect(await reserve(at)).toEqual(first)
    expect(await reserve(at)).toEqual({ kind: 'running' })
  })

  it('that never ended can run again after a minute, with the same resource id', async () => {
    const at = fresh()
    const first = await reserve(at)
    await age(at, '59 s')
    expect(await reserve(at)).toEqual({ kind: 'running' })
    await age(at, '1 s')
    expect(await reserve(at)).toEqual(first)
  })

  it('that has a result is never run again, even if released', async () => {
    const at = fresh()
    await reserve(at)
    await finishRequest(bench.store, at, { status: 409, body: 'no' })
    await releaseRequest(bench.store, at)
    await age(at, '1 h')
    expect(await reserve(at)).toEqual({ kind: 'finished', status: 409, body: 'no' })
  })
})

describe('after a day, an operator’s Idempotency-Key', () => {
  it('is forgotten at the next request', async () => {
    const [old, young] = [fresh(), fresh()]
    for (const at of [old, young]) {
      await reserve(at)
      await finishRequest(bench.store, at, { status: 201, body: '{}' })
    }
    await age(old, '25 h')
    await age(young, '23 h')
    await reserve(fresh())
    expect(await reserve(young)).toMatchObject({ kind: 'finished' })
    expect(await reserve(old)).toMatchObject({ kind: 'run' })
  })
})
