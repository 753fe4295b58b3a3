// A person ends a key before its time.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Desk, OLGA, openDesk, VERA } from '../reconciliation/desk'
import { type Bench, newKey, openBench, orderOf, refused, timedOut, toldBy } from '../support/boundary'

let bench: Bench
let desk: Desk

beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench?.close())
beforeEach(() => {
  desk = openDesk(bench)
})

async function finished(script?: Parameters<Desk['gateway']['nextCall']>[0]) {
  const key = newKey()
  const body = orderOf()
  if (script) desk.gateway.nextCall(script)
  await bench.place(desk.gateway, body, { key })
  const { id, version } = await bench.recordOf(key)
  return { key, body, id, version }
}

const expire = ({ id, version }: { id: string; version: number }) =>
  desk.expireKey(OLGA, { id, version, reason: 'asked to' })

describe('expiring a key', () => {
  it.each([
    ['completed', undefined, 201],
    ['failed_retryable', refused, null],
  ] as const)('turns a %s key into a tombstone like the reaper: 410 from then on', async (state, script, status) => {
    const key = await finished(script)
    await bench.rows(
      `INSERT INTO tenant_live_keys VALUES ('ten_bench', 5) ON CONFLICT (tenant_id) DO UPDATE SET count = 5`,
    )
    expect(await expire(key)).toMatchObject({ id: key.id, state: 'expired', version: key.version + 1 })
    const record = await bench.recordOf(key.key)
    expect(record).toMatchObject({
      request: null,
      response_body: null,
      response_headers: null,
      response_status: status,
    })
    expect(record.expires_at.getTime()).toBe((record.expired_at as Date).getTime())
    expect(record.timeline.at(-1)).toMatchObject({ event: 'expired', by: 'operator:opr_olga' })
    expect(toldBy(await bench.place(desk.gateway, key.body, { key: key.key }))).toBe('expired')
    expect(await bench.rows('SELECT count FROM tenant_live_keys')).toEqual([{ count: '4' }])
    expect(await desk.audit(key.id)).toEqual([
      {
        actor_id: 'opr_olga',
        action: 'key.expire',
        target: key.id,
        outcome: 'done',
        reason: 'asked to',
        before: { state, version: key.version },
        after: { state: 'expired', version: key.version + 1 },
        request_id: 'req_olga',
      },
    ])
  })

  it('abandons the order of a failed_retryable key, and leaves that of a completed one paid', async () => {
    const statusOf = async ({ id }: { id: string }) => {
      const [order] = await bench.rows<{ status: string }>('SELECT status FROM orders WHERE record_id = $1', [id])
      return order!.status
    }
    const [paid, unpaid] = [await finished(), await finished(refused)]
    for (const key of [paid, unpaid]) await expire(key)
    expect([await statusOf(paid), await statusOf(unpaid)]).toEqual(['paid', 'abandoned'])
  })

  it('is refused for an outdated version first, then for a state that can’t expire', async () => {
    const unknown = await finished(timedOut)
    expect(await expire({ ...unknown, version: unknown.version - 1 })).toMatchObject({
      refused: 'changed_since_loaded',
      current: { state: 'unknown', version: unknown.version },
    })
    expect(await expire(unknown)).toMatchObject({ refused: 'not_expirable' })
    const key = await finished()
    await expire(key)
    expect(await expire(key)).toMatchObject({ refused: 'changed_since_loaded', current: { state: 'expired' } })
    expect(await expire({ ...key, version: key.version + 1 })).toMatchObject({ refused: 'not_expirable' })
    expect(await expire({ id: 'idem_00000000000000000000000000', version: 1 })).toMatchObject({ refused: 'not_found' })
  })

  it('is refused for a failed_retryable key with evidence that it was executed', async () => {
    const key = await finished(refused)
    await bench.rows('UPDATE idempotency_records SET effect_evidence = true WHERE id = $1', [key.id])
    expect(await expire(key)).toMatchObject({ refused: 'not_expirable' })
    expect((await bench.recordOf(key.key)).state).toBe('failed_retryable')
  })

  it('waits for a concurrent transaction on the record, then is refused because the record changed', async () => {
    const key = await finished(refused)
    const rival = await bench.transaction()
    await rival.query('UPDATE idempotency_records SET version = version + 1 WHERE id = $1', [key.id])
    const expiring = expire(key)
    await bench.untilBlocked(1)
    await rival.query('COMMIT')
    rival.release()
    expect(await expiring).toMatchObject({ refused: 'changed_since_loaded' })
    expect(await desk.audit(key.id)).toEqual([])
  })

  it('is forbidden for viewers, and changes nothing when its audit entry can’t be written', async () => {
    const key = await finished()
    expect(await desk.expireKey(VERA, { ...key, reason: 'asked to' })).toMatchObject({ refused: 'forbidden' })
    await bench.rows('ALTER TABLE audit_entries ADD CONSTRAINT refused CHECK (action <> $$key.expire$$) NOT VALID')
    await expect(expire(key)).rejects.toThrow('refused')
    await bench.rows('ALTER TABLE audit_entries DROP CONSTRAINT refused')
    expect((await bench.recordOf(key.key)).state).toBe('completed')
  })
})
