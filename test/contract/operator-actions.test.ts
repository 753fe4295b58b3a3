// What operators do to single keys, over HTTP: the answers and refusals of the contract, and what the key's client gets
// afterwards.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashSecret } from '../../lib/secret'
import {
  ADMIN_TOKEN,
  type Answer,
  charges,
  countCharges,
  freshKey,
  type Headers,
  type OrderView,
  orderBody,
  type RecordView,
  send,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'

let site: Site
let viewer: string
beforeAll(async () => {
  site = await openSite(QUICK_PROVIDER)
  viewer = `oo_op_${randomUUID()}`
  await runSql(
    site.databaseUrl,
    `INSERT INTO operator_tokens (id, name, role, hash, created_by) VALUES ('tok_viewer', 'viewer', 'viewer', $1, 'a test')`,
    [hashSecret(viewer)],
  )
})
afterAll(() => site?.close())

const REASON = 'seen in the provider’s dashboard'

type OperatorRecordView = RecordView & Record<string, unknown> & { id: string; version: number; settlesAt: string }

function operate(path: string, body?: unknown, headers: Headers = {}, token = ADMIN_TOKEN): Promise<Answer> {
  return send(new URL(`/api/admin/keys/${path}`, site.url), {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  })
}

interface Placed {
  key: string
  body: ReturnType<typeof orderBody>
  id: string
  version: number
}

async function placed(paymentMethod: string): Promise<Placed> {
  const key = freshKey()
  const body = orderBody({ paymentMethod })
  await site.client.order(key, body)
  return { key, body, ...(await current(key)) }
}

async function current(key: string): Promise<{ id: string; version: number; state: string }> {
  const [row] = await runSql<{ id: string; version: number; state: string }>(
    site.databaseUrl,
    'SELECT id, version, state FROM idempotency_records WHERE key = $1',
    [key],
  )
  return row!
}

const pastSettleWindow = (id: string) =>
  runSql(site.databaseUrl, `UPDATE idempotency_records SET settles_at = now() - interval '1 ms' WHERE id = $1`, [id])
const audit = (target: string) =>
  runSql<Record<string, unknown>>(
    site.databaseUrl,
    'SELECT actor_id, action, outcome, reason, before, after FROM audit_entries WHERE target = $1 ORDER BY seq',
    [target],
  )

describe('the resolve action', () => {
  test('stores the operator’s verdict when the provider is unreachable, and the client’s retry gets its answer', async () => {
    const { key, body, id, version } = await placed('pm_unreachable')
    const answer = await operate(`${id}/resolve`, {
      verdict: 'succeeded',
      providerRef: 'ch_by_hand',
      reason: REASON,
      version,
    })
    expect(answer.status).toBe(200)
    expect(answer.json<OperatorRecordView>()).toMatchObject({
      id,
      key,
      state: 'completed',
      version: version + 1,
      response: { status: 201 },
    })
    const replay = await site.client.order(key, body)
    expect(replay.status).toBe(201)
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect(replay.json<OrderView>()).toMatchObject({
      status: 'paid',
      payment: { providerRef: 'ch_by_hand', status: 'succeeded' },
    })
    expect(await audit(id)).toEqual([
      {
        actor_id: 'ADMIN_TOKEN',
        action: 'key.resolve',
        outcome: 'done',
        reason: REASON,
        before: { state: 'unknown', version },
        after: { state: 'completed', version: version + 1, verdict: 'succeeded', providerRef: 'ch_by_hand' },
      },
    ])
  })

  test('refuses a stale version, an open settle window, a contradiction and a settled key, each with its own 409', async () => {
    const { id, body, version } = await placed('pm_timeout_charged')
    const notExecuted = { verdict: 'not_executed', reason: REASON }
    const stale = await operate(`${id}/resolve`, { ...notExecuted, version: version - 1 })
    expect(expectProblem(stale, 409, 'changed_since_loaded', 'new')).toMatchObject({
      current: { state: 'unknown', version },
    })
    const early = await operate(`${id}/resolve`, { ...notExecuted, version })
    expectProblem(early, 409, 'settle_window_open', 'new')
    await pastSettleWindow(id)
    const denied = await operate(`${id}/resolve`, { ...notExecuted, version })
    const [charge] = await charges(site.url, body.customerId)
    expect(expectProblem(denied, 409, 'contradicts_provider', 'new').detail).toContain(charge!.ref)
    const agreed = await operate(`${id}/resolve`, {
      verdict: 'succeeded',
      providerRef: charge!.ref,
      reason: REASON,
      version,
    })
    expect(agreed.status).toBe(200)
    const again = await operate(`${id}/resolve`, { ...notExecuted, version: version + 1 })
    expectProblem(again, 409, 'not_resolvable', 'none')
  })

  test('refuses a provider reference that is booked for another key', async () => {
    const [one, other] = [await placed('pm_unreachable'), await placed('pm_unreachable')]
    const word = { verdict: 'succeeded', providerRef: `ch_${randomUUID()}`, reason: REASON }
    expect((await operate(`${one.id}/resolve`, { ...word, version: one.version })).status).toBe(200)
    const taken = await operate(`${other.id}/resolve`, { ...word, version: other.version })
    expectProblem(taken, 409, 'provider_ref_taken', 'new')
    expect((await current(other.key)).state).toBe('unknown')
  })

  test('lets the same key run again after not_executed, and it is charged once', async () => {
    const { key, body, id, version } = await placed('pm_timeout_lost_once')
    await pastSettleWindow(id)
    const resolved = await operate(`${id}/resolve`, { verdict: 'not_executed', reason: REASON, version })
    expect(resolved.json<OperatorRecordView>().state).toBe('failed_retryable')
    const retried = await site.client.order(key, body)
    expect(retried.status).toBe(201)
    expect(retried.headers['idempotent-replayed']).toBeUndefined()
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('makes the worker run an accepted request again after not_executed', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_timeout_lost_once' })
    expect((await site.client.order(key, body, { prefer: 'respond-async' })).status).toBe(202)
    await until(
      () => current(key),
      ({ state }) => state === 'unknown',
    )
    const { id, version } = await current(key)
    await pastSettleWindow(id)
    expect((await operate(`${id}/resolve`, { verdict: 'not_executed', reason: REASON, version })).status).toBe(200)
    await until(
      () => current(key),
      ({ state }) => state === 'completed',
    )
    expect((await site.client.order(key, body)).status).toBe(201)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test.each([
    ['a verdict that does not exist', { verdict: 'maybe' }, 'verdict'],
    ['no verdict', { verdict: undefined }, 'verdict'],
    ['succeeded without a reference', { verdict: 'succeeded', providerRef: undefined }, 'providerRef'],
    ['a reference with a space', { providerRef: 'ch 1' }, 'providerRef'],
    ['a reference that is too long', { providerRef: 'c'.repeat(256) }, 'providerRef'],
    ['an empty reference', { providerRef: '' }, 'providerRef'],
    ['a reason of nine characters and spaces', { reason: '  nine char   ' }, 'reason'],
    ['a reason that is too long', { reason: 'r'.repeat(2001) }, 'reason'],
    ['a reason with a NUL', { reason: 'seen in the \0 dashboard' }, 'reason'],
    ['no version', { version: undefined }, 'version'],
    ['a version that is no number', { version: '3' }, 'version'],
  ])('refuses %s, before it looks for the record', async (_, wrong, path) => {
    const word = { verdict: 'succeeded', providerRef: 'ch_1', reason: REASON, version: 1, ...wrong }
    const answer = await operate('idem_00000000000000000000000000/resolve', word)
    const { issues } = expectProblem(answer, 400, 'invalid_request', 'same')
    expect(issues).toMatchObject([{ path }])
  })

  test('refuses unknown members of the body', async () => {
    const word = { verdict: 'declined', reason: REASON, version: 1, force: true }
    expectProblem(await operate('idem_00000000000000000000000000/resolve', word), 400, 'invalid_request', 'same')
  })

  test('decides once when repeated with the same Idempotency-Key, and its answer is replayed', async () => {
    const { id, version } = await placed('pm_unreachable')
    const word = { verdict: 'declined', reason: REASON, version }
    const headers = { 'idempotency-key': freshKey() }
    const first = await operate(`${id}/resolve`, word, headers)
    const second = await operate(`${id}/resolve`, word, headers)
    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.bytes.equals(first.bytes)).toBe(true)
    expect(await audit(id)).toHaveLength(1)
  })

  test('accepts one of two concurrent decisions, and refuses the other with 409', async () => {
    const { id, version } = await placed('pm_unreachable')
    const answers = await Promise.all([
      operate(`${id}/resolve`, { verdict: 'succeeded', providerRef: `ch_${id}`, reason: REASON, version }),
      operate(`${id}/resolve`, { verdict: 'declined', reason: REASON, version }),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expectProblem(answers.find(({ status }) => status === 409)!, 409, 'changed_since_loaded', 'new')
    expect(await runSql(site.databaseUrl, 'SELECT 1 FROM ledger_entries WHERE record_id = $1', [id])).toHaveLength(1)
  })
})

describe('the resolve preview', () => {
  test('shows what the replay will be', async () => {
    const { id, key, body, version } = await placed('pm_unreachable')
    const shown = await send(new URL(`/api/admin/keys/${id}/resolve-preview?verdict=declined&providerRef=`, site.url), {
      headers: { authorization: `Bearer ${viewer}` },
    })
    expect(shown.status).toBe(200)
    const preview = shown.json<{ replay: { status: number; headers: Record<string, string>; body: string } }>()
    expect(preview).toMatchObject({ allowed: true, refusal: null, affected: [{ type: 'order', to: 'declined' }] })
    await operate(`${id}/resolve`, { verdict: 'declined', reason: REASON, version })
    const replay = await site.client.order(key, body)
    expect(replay.status).toBe(preview.replay.status)
    expect(replay.bytes.toString()).toBe(preview.replay.body)
    expect(replay.headers).toMatchObject(preview.replay.headers)
  })

  test('says why a verdict would be refused', async () => {
    const { id } = await placed('pm_unreachable')
    const shown = await send(new URL(`/api/admin/keys/${id}/resolve-preview?verdict=not_executed`, site.url), {
      headers: { authorization: `Bearer ${viewer}` },
    })
    expect(shown.json()).toMatchObject({ allowed: false, refusal: { code: 'settle_window_open' } })
  })
})

describe('the reconcile action', () => {
  test('asks the provider, and settles the key when the answer is proof', async () => {
    const { id, key, body } = await placed('pm_timeout_charged')
    const answer = await operate(`${id}/reconcile`)
    expect(answer.status).toBe(200)
    const [charge] = await charges(site.url, body.customerId)
    expect(answer.json()).toMatchObject({
      verdict: 'succeeded',
      state: 'completed',
      evidence: [{ source: 'look_up', verdict: 'succeeded', ref: charge!.ref, attempt: 1 }],
    })
    expect((await site.client.order(key, body)).status).toBe(201)
  })

  test('reports the verdict on a key whose outcome is known, and changes nothing', async () => {
    const { id, key, version } = await placed('pm_ok')
    const answer = await operate(`${id}/reconcile`, { reason: 'to be sure' })
    expect(answer.json()).toMatchObject({ verdict: 'succeeded', state: 'completed', evidence: [] })
    expect(await current(key)).toMatchObject({ version })
    expect(await audit(id)).toMatchObject([{ action: 'key.reconcile', reason: 'to be sure' }])
  })

  test('reports an unreachable provider, and refuses a key with nothing to ask about', async () => {
    const { id } = await placed('pm_unreachable')
    expect((await operate(`${id}/reconcile`)).json()).toMatchObject({ verdict: 'unreachable', state: 'unknown' })
    const key = freshKey()
    await site.client.refund('ord_00000000000000000000000000', key)
    expectProblem(await operate(`${(await current(key)).id}/reconcile`), 409, 'nothing_to_ask', 'none')
  })
})

describe('the expire action', () => {
  test('makes a completed key answer 410, with the status of its first answer', async () => {
    const { id, key, body, version } = await placed('pm_ok')
    const answer = await operate(`${id}/expire`, { reason: 'erase it', version })
    expect(answer.status).toBe(200)
    expect(answer.json<OperatorRecordView>()).toMatchObject({ state: 'expired', version: version + 1 })
    const gone = expectProblem(await site.client.order(key, body), 410, 'idempotency_key_expired', 'none')
    expect(gone).toMatchObject({ response: { status: 201 }, resource: { type: 'order' } })
    expect((await site.client.record(key)).status).toBe(410)
    expect(await countCharges(site.url, body.customerId)).toBe(1)
  })

  test('refuses another version, and a key whose outcome is unknown', async () => {
    const { id, version } = await placed('pm_timeout_charged')
    const stale = await operate(`${id}/expire`, { reason: 'erase it', version: version + 1 })
    expectProblem(stale, 409, 'changed_since_loaded', 'new')
    expectProblem(await operate(`${id}/expire`, { reason: 'erase it', version }), 409, 'not_expirable', 'none')
  })
})

describe.each(['reconcile', 'resolve', 'expire'])('the %s action', (action) => {
  test('is forbidden to viewers whatever they send, and the attempt is audited', async () => {
    const { id, key, version } = await placed('pm_unreachable')
    expectProblem(await operate(`${id}/${action}`, { wrong: true }, {}, viewer), 403, 'forbidden', 'none')
    expect(await current(key)).toMatchObject({ state: 'unknown', version })
    expect(await audit(id)).toMatchObject([{ action: `key.${action}`, outcome: 'forbidden', actor_id: 'tok_viewer' }])
  })

  test('answers 404 for an id that is malformed or does not exist', async () => {
    const word = { verdict: 'declined', reason: REASON, version: 1 }
    const body = { reconcile: {}, resolve: word, expire: { reason: REASON, version: 1 } }[action]
    for (const id of ['idem_00000000000000000000000000', 'nothing'])
      expectProblem(await operate(`${id}/${action}`, body), 404, 'not_found', 'none')
  })
})
