// Everything about one key, and what is kept covered of it.
import { randomUUID } from 'node:crypto'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findKeyDetail, KeyDetail } from '../../lib/console/key-detail'
import { consoleUseCases } from '../../lib/console/use-cases'
import { nextAnswer } from '../../lib/http/next-answer'
import { expire } from '../../lib/idempotency/store/expire'
import { openMisuseLog } from '../../lib/metrics/misuse'
import { callOf } from '../../lib/operators/actor'
import { isRefused } from '../../lib/operators/refusal'
import type { Role } from '../../lib/operators/role'
import { openGuard } from '../../lib/operators/use-case'
import { MASK, maskedInput } from '../../lib/orders/masking'
import {
  answerOf,
  type Bench,
  newKey,
  openBench,
  orderOf,
  scriptedGateway,
  TENANT,
  timedOut,
} from '../support/boundary'

let bench: Bench
let console: ReturnType<typeof consoleUseCases>
beforeAll(async () => {
  bench = await openBench()
  await bench.db.query(`INSERT INTO tenants (id, name) VALUES ($1, 'the bench')`, [TENANT])
  const settings = { leaseSeconds: 60, gatewayTimeLimitSeconds: 10, retentionSeconds: 86_400 }
  console = consoleUseCases({ store: bench.store, guard: openGuard(bench.store), settings, nextAnswer })
})
afterAll(() => bench.close())

const as = (role: Role) => callOf({ id: `opr_${role}`, name: role, role }, `req_${randomUUID()}`)

async function placed(changes = {}) {
  const key = newKey()
  const body = orderOf({ note: 'ring twice', paymentMethod: 'pm_secret', ...changes })
  const order = JSON.parse(answerOf(await bench.place(scriptedGateway(), body, { key })).body)
  return { key, body, order, id: (await bench.recordOf(key)).id }
}

async function show(id: string): Promise<KeyDetail> {
  const detail = await console.showKey(as('viewer'), { id })
  if (isRefused(detail)) throw new Error(detail.refused)
  return detail
}

describe('the detail of a key', () => {
  it('shows its order, ledger, timeline and the predicted answer of the next retry', async () => {
    const { id, key, order } = await placed()
    const detail = await show(id)
    expect(KeyDetail.parse(detail)).toEqual(detail)
    expect(detail.record).toMatchObject({ id, key, state: 'completed', tenantId: TENANT })
    expect(detail.tenant).toEqual({ id: TENANT, name: 'the bench', disabled: false })
    expect(detail.timeline.map(({ event }) => event)).toEqual(['reserved', 'settled'])
    expect(detail.order).toMatchObject({ id: order.id, status: 'paid', amountCents: 2500 })
    expect(detail.ledger).toMatchObject([{ kind: 'charge', own: true, recordId: id, amountCents: 2500 }])
    expect(detail).toMatchObject({ refund: null, evidence: [], discrepancies: [], misuse: [] })
    expect(detail.nextReplay).toMatchObject({ kind: 'answered', status: 201, code: null, retry: null })
    expect(JSON.parse(detail.nextReplay.body!)).toEqual({ ...order, note: MASK })
  })

  it('of a refund shows the refunded order, and marks only the refund’s own ledger entry', async () => {
    const { order } = await placed()
    const key = newKey()
    await bench.refund(scriptedGateway(), order.id, { amountCents: 300, reason: 'it broke' }, { key })
    const { id } = await bench.recordOf(key)
    const detail = await show(id)
    expect(detail.refund).toMatchObject({ orderId: order.id, amountCents: 300, status: 'succeeded', reason: MASK })
    expect(detail.order).toMatchObject({ id: order.id, status: 'partially_refunded', refundedCents: 300 })
    expect(detail.ledger.map(({ kind, own }) => [kind, own])).toEqual([
      ['charge', false],
      ['refund', true],
    ])
  })

  it('of a refund by the first release takes the provider’s reference from the ledger row', async () => {
    const { order } = await placed()
    const key = newKey()
    const gateway = scriptedGateway()
    gateway.nextCall(() => ({ kind: 'succeeded', providerRef: 're_first' }))
    await bench.refund(gateway, order.id, { amountCents: 300 }, { key })
    const { id } = await bench.recordOf(key)
    await bench.db.query('UPDATE refunds SET provider_ref = NULL WHERE record_id = $1', [id])
    expect((await show(id)).refund).toMatchObject({ status: 'succeeded', providerRef: 're_first' })
  })

  it('has no record id for a ledger entry whose record is deleted', async () => {
    const { id: ofOrder, key: orderKey, order } = await placed()
    const key = newKey()
    await bench.refund(scriptedGateway(), order.id, { amountCents: 300 }, { key })
    const { id } = await bench.recordOf(key)
    expect((await show(id)).ledger.map(({ recordId }) => recordId)).toEqual([ofOrder, id])
    const due = sql`SELECT id, state FROM idempotency_records WHERE key = ${orderKey} FOR UPDATE`
    await expire({ store: bench.store }, { due, by: 'test', operations: new Map() })
    await bench.db.query('DELETE FROM idempotency_records WHERE id = $1', [ofOrder])
    expect((await show(id)).ledger.map(({ recordId }) => recordId)).toEqual([null, id])
  })

  it('of a refused refund still shows its order', async () => {
    const { order } = await placed()
    const key = newKey()
    await bench.refund(scriptedGateway(), order.id, { amountCents: 99_999 }, { key })
    const detail = await show((await bench.recordOf(key)).id)
    expect(detail.record.response).toEqual({ status: 409 })
    expect(detail).toMatchObject({ refund: null, order: { id: order.id } })
    expect(detail.ledger.map(({ own }) => own)).toEqual([false])
  })

  it('shows evidence, discrepancies and the 20 latest misuses', async () => {
    const { id, key, body } = await placed()
    await bench.db.query(
      `INSERT INTO evidence (id, record_id, source, source_id, attempt, verdict, detail)
       VALUES ('evd_1', $1, 'webhook', 'evt_1', 1, 'succeeded', '{"ref": "ch_other"}')`,
      [id],
    )
    await bench.db.query(
      `INSERT INTO discrepancies (id, kind, subject, record_id, detail) VALUES ('dis_1', 'contradicting_evidence', 'x', $1, '{"a": 1}')`,
      [id],
    )
    const log = openMisuseLog(bench.store)
    const sent = { params: {}, body: { ...body, currency: 'EUR' } }
    for (let i = 0; i < 22; i++)
      await log.record({
        recordId: id,
        tenantId: TENANT,
        endpoint: 'POST /api/orders',
        key,
        requestId: `req_${i}`,
        stored: { params: {}, body },
        sent,
      })
    const detail = await show(id)
    expect(detail.evidence).toMatchObject([{ source: 'webhook', verdict: 'succeeded', ref: 'ch_other', attempt: 1 }])
    expect(detail.discrepancies).toMatchObject([{ id: 'dis_1', closedAt: null, detail: { a: 1 } }])
    expect(detail.misuse).toHaveLength(20)
    expect(detail.misuse[0]).toMatchObject({ requestId: 'req_21', changedPaths: ['$.currency'] })
    expect(KeyDetail.parse(detail)).toEqual(detail)
  })

  it('of an id that does not exist is not found', async () => {
    expect(await findKeyDetail(bench.store, 'idem_00000000000000000000000000')).toBeNull()
    expect(await console.showKey(as('viewer'), { id: 'nothing' })).toEqual({ refused: 'not_found' })
  })
})

describe('the client’s input (payment method and free text)', () => {
  it('is masked in the detail of a key', async () => {
    const { id, body } = await placed()
    const detail = await show(id)
    expect(detail.request).toEqual({ params: {}, body: { ...body, paymentMethod: MASK, note: MASK } })
    expect(detail.order?.note).toBe(MASK)
    const { nextReplay: _, ...rest } = detail
    expect(JSON.stringify(rest)).not.toMatch(/pm_secret|ring twice/)
  })

  it('is masked at every depth of the request', () => {
    const body = { a: [{ note: 'x', sku: 'S' }], b: { reason: 'y', paymentMethod: { card: '4242' } }, note: null }
    expect(maskedInput({ params: { id: 'ord_1' }, body })).toEqual({
      params: { id: 'ord_1' },
      body: { a: [{ note: MASK, sku: 'S' }], b: { reason: MASK, paymentMethod: MASK }, note: null },
    })
  })

  it('is unmasked for an operator with a reason, and the audit log has both but not the input', async () => {
    const { id, body } = await placed()
    const call = as('operator')
    expect(await console.unmaskKey(call, { id, reason: 'a dispute' })).toEqual({ request: { params: {}, body } })
    const logged = await bench.rows('SELECT * FROM audit_entries WHERE target = $1', [id])
    expect(logged).toMatchObject([
      {
        action: 'key.unmask',
        actor_id: 'opr_operator',
        reason: 'a dispute',
        outcome: 'done',
        request_id: call.requestId,
      },
    ])
    expect(JSON.stringify(logged)).not.toMatch(/pm_secret|ring twice/)
  })

  it('is not unmasked for a viewer, and the refusal is audited', async () => {
    const { id } = await placed()
    expect(await console.unmaskKey(as('viewer'), { id, reason: 'curious' })).toMatchObject({ refused: 'forbidden' })
    expect(await bench.rows('SELECT action, outcome FROM audit_entries WHERE target = $1', [id])).toEqual([
      { action: 'key.unmask', outcome: 'forbidden' },
    ])
  })

  it('can’t be unmasked once it is erased, and then nothing is audited', async () => {
    const { id } = await placed()
    await bench.db.query(
      `UPDATE idempotency_records SET state = 'expired', version = version + 1, expired_at = now(), request = NULL,
         response_headers = NULL, response_body = NULL, timeline = timeline || '[{"event": "expired", "by": "test", "at": "2026-01-01T00:00:00Z"}]'
       WHERE id = $1`,
      [id],
    )
    expect((await show(id)).request).toBeNull()
    expect(await console.unmaskKey(as('operator'), { id, reason: 'a dispute' })).toMatchObject({ refused: 'not_found' })
    expect(await bench.rows('SELECT 1 FROM audit_entries WHERE target = $1', [id])).toEqual([])
  })
})

describe('the predicted answer of the next retry', () => {
  it('is empty while the retry would run the operation or settle it first', async () => {
    const nothing = { status: null, headers: null, body: null, code: null, retry: null }
    const refusedKey = newKey()
    const gateway = scriptedGateway()
    gateway.nextCall(() => ({ kind: 'not_executed', code: 'connection_refused' }))
    await bench.place(gateway, orderOf(), { key: refusedKey })
    const retryable = await show((await bench.recordOf(refusedKey)).id)
    expect(retryable.record.state).toBe('failed_retryable')
    expect(retryable.nextReplay).toEqual({ kind: 'runs', ...nothing })

    const unknownKey = newKey()
    gateway.nextCall(timedOut)
    await bench.place(gateway, orderOf(), { key: unknownKey })
    const { id } = await bench.recordOf(unknownKey)
    expect((await show(id)).nextReplay).toMatchObject({ status: 409, code: 'idempotency_outcome_unknown' })
    await bench.db.query('UPDATE idempotency_records SET effect_evidence = true WHERE id = $1', [id])
    expect((await show(id)).nextReplay).toEqual({ kind: 'settles', ...nothing })
  })

  it('is a 401 while the key’s tenant is disabled', async () => {
    const { id } = await placed()
    await bench.db.query('UPDATE tenants SET disabled_at = now()')
    expect((await show(id)).nextReplay).toMatchObject({ status: 401, code: 'unauthenticated' })
    await bench.db.query('UPDATE tenants SET disabled_at = NULL')
    expect((await show(id)).nextReplay).toMatchObject({ status: 201 })
  })
})
