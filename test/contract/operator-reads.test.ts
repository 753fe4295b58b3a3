// What operators see over HTTP: lists, one key, numbers, misuse, discrepancies and the audit log. Above all: what is said
// of the next retry is what the next retry gets, byte for byte but for what is masked.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KeyDetail } from '../../lib/console/key-detail'
import type { OperatorRecord } from '../../lib/console/record-view'
import { Stats } from '../../lib/console/stats'
import type { State } from '../../lib/idempotency/states'
import { maskedAnswer } from '../../lib/orders/masking'
import {
  ADMIN_TOKEN,
  type Answer,
  freshKey,
  ORDERS,
  type OrderView,
  orderBody,
  REFUNDS,
  type RecordView,
  send,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { move as moveRow } from '../support/rows'
import { openSite, type Site } from '../support/site'

let site: Site
let db: pg.Pool
beforeAll(async () => {
  // Nobody takes up what is accepted: it stays as it is while it is looked at.
  site = await openSite({ WORKER: 'off' })
  db = new pg.Pool({ connectionString: site.databaseUrl, max: 2 })
})
afterAll(async () => {
  await db?.end()
  await site?.close()
})

/** The request stays what it was, unless it is erased. */
const move = (id: string, to: State, instead: Record<string, string> = {}) =>
  moveRow(db, id, to, { ...(to === 'expired' ? {} : { request: 'request' }), ...instead })

const authorization = `Bearer ${ADMIN_TOKEN}`
const get = (path: string) => send(new URL(path, site.url), { headers: { authorization } })
const post = (path: string, body: unknown, headers = {}) =>
  send(new URL(path, site.url), {
    method: 'POST',
    body,
    headers: { authorization, 'content-type': 'application/json', ...headers },
  })

type Row = OperatorRecord
const list = async (query: string) => {
  const answer = await get(`/api/admin/keys?${query}`)
  expect(answer.status, String(answer.bytes)).toBe(200)
  return answer.json<{ items: Row[]; nextCursor: string | null }>()
}
const idOf = async (key: string) => (await list(`q=${encodeURIComponent(key)}`)).items[0]!.id
const show = async (id: string) => {
  const answer = await get(`/api/admin/keys/${id}`)
  expect(answer.status).toBe(200)
  return KeyDetail.parse(answer.json())
}

describe('the predicted answer of the next retry', () => {
  const SAID = /^(content-type|location|retry-after|www-authenticate|preference-applied|idempot)/

  interface Asked {
    id: string
    again(): Promise<Answer>
  }
  async function order(paymentMethod: string, headers?: Record<string, string>): Promise<Asked> {
    const key = freshKey()
    const body = orderBody({ paymentMethod, note: 'ring twice' })
    const again = () => site.client.order(key, body)
    await site.client.order(key, body, headers)
    return { id: await idOf(key), again }
  }
  const ACCEPTED = { prefer: 'respond-async' }

  const CASES: [string, () => Promise<Asked>, string][] = [
    ['completed', () => order('pm_ok'), '201 completed'],
    ['completed with a decline', () => order('pm_declined'), '402 completed'],
    [
      'completed for a refund',
      async () => {
        const { id } = (await site.client.order(freshKey(), orderBody())).json<OrderView>()
        const key = freshKey()
        await site.client.refund(id, key, { amountCents: 100, reason: 'it broke' })
        return {
          id: await idOf(key),
          again: () => site.client.refund(id, key, { reason: 'it broke', amountCents: 100 }),
        }
      },
      '201 completed',
    ],
    [
      'completed with a refused refund',
      async () => {
        const { id } = (await site.client.order(freshKey(), orderBody())).json<OrderView>()
        const key = freshKey()
        await site.client.refund(id, key, { amountCents: 99_999 })
        return { id: await idOf(key), again: () => site.client.refund(id, key, { amountCents: 99_999 }) }
      },
      '409 completed',
    ],
    [
      'completed and past its retention',
      async () => {
        const asked = await order('pm_ok')
        await db.query(`UPDATE idempotency_records SET expires_at = now() - interval '1 s' WHERE id = $1`, [asked.id])
        return asked
      },
      '410 completed',
    ],
    [
      'expired',
      async () => {
        const asked = await order('pm_ok')
        await move(asked.id, 'expired')
        return asked
      },
      '410 expired',
    ],
    ['unknown', () => order('pm_timeout_charged'), '409 unknown'],
    [
      'unknown with a provider lookup in 30 seconds',
      async () => {
        const asked = await order('pm_timeout_charged')
        // half a second off the whole one, so that neither reading rounds to another
        await db.query(
          `UPDATE idempotency_records SET reconcile_after = clock_timestamp() + interval '29.5 s' WHERE id = $1`,
          [asked.id],
        )
        return asked
      },
      '409 unknown',
    ],
    [
      'in progress',
      async () => {
        const asked = await order('pm_refused_once')
        await move(asked.id, 'in_progress')
        return asked
      },
      '409 in_progress',
    ],
    [
      'in progress with an expired lease',
      async () => {
        const asked = await order('pm_refused_once')
        await move(asked.id, 'in_progress', { locked_until: `clock_timestamp() - interval '1 s'` })
        return asked
      },
      '409 in_progress',
    ],
    ['pending', () => order('pm_ok', ACCEPTED), '202 pending'],
    [
      'accepted and in progress',
      async () => {
        const asked = await order('pm_ok', ACCEPTED)
        await move(asked.id, 'in_progress')
        return asked
      },
      '202 in_progress',
    ],
    [
      'accepted and proven not executed',
      async () => {
        const asked = await order('pm_ok', ACCEPTED)
        await move(asked.id, 'in_progress')
        await move(asked.id, 'failed_retryable')
        return asked
      },
      '202 failed_retryable',
    ],
  ]

  test.each(CASES)(
    'of a key that is %s equals the retry’s real one, byte for byte but for what is masked',
    async (_, prepare, expected) => {
      const { id, again } = await prepare()
      // Both count down to the same instant: a second may pass between them, but not each time. And the node that answers
      // learns of the end of a key by a notification.
      const { predicted, real } = await until(
        async () => ({ predicted: await show(id), real: await again() }),
        ({ predicted: { nextReplay }, real: { status, headers } }) =>
          nextReplay.status === status && nextReplay.headers?.['retry-after'] === headers['retry-after'],
      )
      const { nextReplay, record } = predicted
      expect(`${nextReplay.status} ${record.state}`).toBe(expected)
      expect(maskedAnswer({ body: real.bytes.toString('utf8') }).body).toBe(nextReplay.body)
      const said = Object.entries(real.headers).filter(([name]) => SAID.test(name))
      expect(nextReplay.headers).toEqual(Object.fromEntries(said))
      const { code = null, retry = null } = real.status >= 300 ? real.json<{ code?: string; retry?: unknown }>() : {}
      expect(nextReplay).toMatchObject({ kind: 'answered', code, retry })
    },
  )

  test('of a key proven not executed is that the retry runs, and it does', async () => {
    const { id, again } = await order('pm_refused_once')
    const { nextReplay, record } = await show(id)
    expect(record.state).toBe('failed_retryable')
    expect(nextReplay).toEqual({ kind: 'runs', status: null, headers: null, body: null, code: null, retry: null })
    const real = await again()
    expect(real.status).toBe(201)
    expect(real.headers).not.toHaveProperty('idempotent-replayed')
    expect((await show(id)).record).toMatchObject({ state: 'completed', attempt: 2 })
  })

  test('is read, like the operator lists, without a change to the record or the audit log', async () => {
    const { id } = await order('pm_refused_once')
    await move(id, 'in_progress', { locked_until: `clock_timestamp() - interval '1 s'` })
    const row = async () => (await db.query('SELECT * FROM idempotency_records WHERE id = $1', [id])).rows
    const before = await row()
    const entries = async () => (await db.query('SELECT count(*) FROM audit_entries')).rows
    const logged = await entries()
    for (let i = 0; i < 3; i++) await show(id)
    for (const path of ['keys', 'stats', 'misuse', 'discrepancies', 'audit']) await get(`/api/admin/${path}`)
    expect(await row()).toEqual(before)
    expect(await entries()).toEqual(logged)
  })
})

describe('GET /api/admin/keys', () => {
  test('lists records with exactly the fields of the contract', async () => {
    const key = freshKey()
    await site.client.order(key, orderBody(), { 'x-request-id': `mine-${key}` })
    const [item] = (await list(`q=${key}`)).items
    const own = (await site.client.record(key)).json<RecordView>()
    expect(item).toMatchObject(own)
    expect(Object.keys(item!).sort()).toEqual(
      [
        ...Object.keys(own),
        ...['id', 'tenantId', 'version', 'attempt', 'recoveryPoint', 'lockedUntil', 'lockedBy', 'settlesAt'],
        ...['lastErrorCode', 'reconcileAfter', 'reconcileAttempts', 'deadLetteredAt', 'replayCount', 'lastReplayedAt'],
        ...['fingerprint', 'requestId', 'async'],
      ].sort(),
    )
    expect((await list(`q=mine-${key}`)).items).toEqual([item])
  })

  test('filters by several states, by a tenant’s name and by a part of an endpoint', async () => {
    const { items } = await list('state=unknown&state=failed_retryable&tenant=demo&endpoint=orders&limit=200')
    expect(new Set(items.map(({ state }) => state))).toEqual(new Set(['unknown', 'failed_retryable']))
    const refunds = await list('endpoint=refunds')
    expect(new Set(refunds.items.map(({ endpoint }) => endpoint))).toEqual(new Set([REFUNDS]))
    const orders = await list(`endpoint=${encodeURIComponent(ORDERS)}`)
    expect(new Set(orders.items.map(({ endpoint }) => endpoint))).toEqual(new Set([ORDERS]))
    expect((await list('tenant=nobody')).items).toEqual([])
  })

  test.each(['-createdAt', 'createdAt', '-lockedUntil', '-replayCount', 'reconcileAfter'])(
    'sorted by %s, lists each record once over all pages',
    async (sort) => {
      const whole = (await list(`sort=${sort}&limit=200`)).items.map(({ id }) => id)
      const paged: string[] = []
      for (let cursor = ''; ; ) {
        const page = await list(`sort=${sort}&limit=7${cursor}`)
        paged.push(...page.items.map(({ id }) => id))
        if (!page.nextCursor) break
        cursor = `&cursor=${page.nextCursor}`
      }
      expect(paged).toEqual(whole)
      expect(new Set(paged).size).toBe(paged.length)
    },
  )

  test('with a cursor of another sort is a 400', async () => {
    const { nextCursor } = await list('sort=createdAt&limit=1')
    expect((await list(`sort=createdAt&limit=1&cursor=${nextCursor}`)).items).toHaveLength(1)
    const problem = expectProblem(await get(`/api/admin/keys?cursor=${nextCursor}`), 400, 'invalid_request', 'same')
    expect(problem.issues).toEqual([{ path: 'cursor', message: 'belongs to another sort' }])
  })

  const cursorOf = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url')
  const at = { createdAt: '2026-01-01T00:00:00.000Z', id: 'idem_1' }
  test.each([
    ['state=lost', 'state'],
    ['state=unknown&state=lost', 'state'],
    ['q=ab', 'q'],
    ['q=%00abc', 'q'],
    ['minAgeSeconds=-1', 'minAgeSeconds'],
    ['minAgeSeconds=soon', 'minAgeSeconds'],
    ['minAgeSeconds=1.5', 'minAgeSeconds'],
    ['deadLettered=maybe', 'deadLettered'],
    ['sort=key', 'sort'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['tenant=', 'tenant'],
    ['cursor=nonsense', 'cursor'],
    [`cursor=${cursorOf({ ...at, sort: '-createdAt', value: 5 })}`, 'cursor'],
    [`sort=-replayCount&cursor=${cursorOf({ ...at, sort: '-replayCount', value: 'many' })}`, 'cursor'],
    [`sort=-replayCount&cursor=${cursorOf({ ...at, sort: '-replayCount', value: 1e12 })}`, 'cursor'],
    [`sort=reconcileAfter&cursor=${cursorOf({ ...at, sort: 'reconcileAfter', value: 'soon' })}`, 'cursor'],
    [`cursor=${cursorOf({ ...at, sort: '-createdAt', value: null, createdAt: '0000-01-01T00:00:00Z' })}`, 'cursor'],
    [`cursor=${cursorOf({ ...at, sort: '-createdAt', value: null, id: 'a\0' })}`, 'cursor'],
    [`cursor=${cursorOf(null)}`, 'cursor'],
  ])('?%s is a 400 that names the bad parameter', async (query, path) => {
    const { issues } = expectProblem(await get(`/api/admin/keys?${query}`), 400, 'invalid_request', 'same')
    expect(issues?.map((issue) => issue.path.replace(/\[\d+\]$/, ''))).toContain(path)
  })

  test('with an unknown query parameter is a 400', async () => {
    expectProblem(await get('/api/admin/keys?page=2'), 400, 'invalid_request', 'same')
  })
})

describe('GET /api/admin/keys/{id}', () => {
  test.each(['nothing', 'idem_1', 'idem_00000000000000000000000000', '%00', 'idem_ABCDEFGHJKMNPQRSTVWXYZ0123'])(
    'with the id %s, which no record has, is a 404',
    async (id) => {
      expectProblem(await get(`/api/admin/keys/${id}`), 404, 'not_found', 'none')
    },
  )
})

describe('POST /api/admin/keys/{id}/unmask', () => {
  test('shows the request once per Idempotency-Key, and does not store it', async () => {
    const key = freshKey()
    const body = orderBody({ paymentMethod: 'pm_very_secret', note: 'ring twice' })
    await site.client.order(key, body)
    const id = await idOf(key)
    const call = { 'idempotency-key': randomUUID() }
    const reason = { reason: 'a dispute' }
    const first = await post(`/api/admin/keys/${id}/unmask`, reason, call)
    expect(first.status).toBe(200)
    expect(first.json()).toEqual({ request: { params: {}, body } })
    expectProblem(await post(`/api/admin/keys/${id}/unmask`, reason, call), 409, 'already_created', 'new')
    const { rows } = await db.query(`SELECT body FROM operator_requests WHERE key = $1`, [call['idempotency-key']])
    expect(JSON.stringify(rows)).not.toContain('pm_very_secret')
    const { items } = (await get(`/api/admin/audit?target=${id}`)).json<{ items: unknown[] }>()
    expect(items).toMatchObject([{ action: 'key.unmask', actorId: 'ADMIN_TOKEN', reason: 'a dispute' }])
  })

  test('without a valid reason is a 400', async () => {
    const url = '/api/admin/keys/idem_00000000000000000000000000/unmask'
    for (const body of [{}, { reason: ' ' }, { reason: 'x'.repeat(2001) }, { reason: 'ok', more: 1 }])
      expectProblem(await post(url, body), 400, 'invalid_request', 'same')
    expectProblem(await post(url, { reason: 'a dispute' }), 404, 'not_found', 'none')
  })
})

describe('GET /api/admin/stats', () => {
  test.each(['1h', '24h', '7d', '30d'])('answers for the window %s', async (window) => {
    const answer = await get(`/api/admin/stats?window=${window}`)
    expect(answer.status).toBe(200)
    expect(Stats.parse(answer.json())).toMatchObject({ window, records: { completed: { estimated: false } } })
  })

  test.each(['window=2h', 'window=', 'tenant=', 'window=1h&window=24h', 'from=now'])('?%s is a 400', async (query) => {
    const { issues } = expectProblem(await get(`/api/admin/stats?${query}`), 400, 'invalid_request', 'same')
    expect(issues).not.toEqual([])
  })
})

describe('GET /api/admin/misuse', () => {
  test('lists the key, the record and the paths that differ, but no values', async () => {
    const key = freshKey()
    const body = orderBody({ note: 'the first' })
    await site.client.order(key, body)
    await site.client.order(key, { ...body, note: 'the second', currency: 'EUR' })
    const recordId = await idOf(key)
    const answer = await get(`/api/admin/misuse?recordId=${recordId}&tenant=demo&endpoint=orders`)
    const { items, nextCursor } = answer.json<{ items: Record<string, unknown>[]; nextCursor: string | null }>()
    expect(items).toMatchObject([{ key, recordId, endpoint: ORDERS, changedPaths: ['$.currency', '$.note'] }])
    expect(nextCursor).toBeNull()
    expect(answer.bytes.toString()).not.toMatch(/the first|the second|EUR/)
  })

  test.each(['limit=0', 'limit=1000', 'cursor=x', 'from=yesterday', 'to=0000-01-01T00:00:00Z', 'recordId='])(
    '?%s is a 400',
    async (query) => {
      expectProblem(await get(`/api/admin/misuse?${query}`), 400, 'invalid_request', 'same')
    },
  )
})

describe('discrepancies', () => {
  const open = async () => {
    const id = `dis_${randomUUID().replaceAll('-', '')}`
    await db.query(`INSERT INTO discrepancies (id, kind, subject, detail) VALUES ($1, 'missing_here', $1, '{}')`, [id])
    return id
  }
  const listed = async (query: string) =>
    (await get(`/api/admin/discrepancies${query}`)).json<{ items: { id: string }[] }>().items.map(({ id }) => id)

  test('stay open until an operator closes them once with a reason', async () => {
    const id = await open()
    expect(await listed('')).toContain(id)
    expectProblem(await post(`/api/admin/discrepancies/${id}/close`, {}), 400, 'invalid_request', 'same')
    const closed = await post(`/api/admin/discrepancies/${id}/close`, { reason: 'refunded by hand' })
    expect(closed.status).toBe(200)
    expect(closed.json()).toMatchObject({ id, reason: 'refunded by hand', closedBy: { id: 'ADMIN_TOKEN' } })
    expect(await listed('')).not.toContain(id)
    expect(await listed('?state=closed')).toContain(id)
    expect(await listed('?state=all')).toContain(id)
    expectProblem(
      await post(`/api/admin/discrepancies/${id}/close`, { reason: 'again' }),
      409,
      'already_closed',
      'none',
    )
  })

  test('are closed once when the request is repeated with the same Idempotency-Key', async () => {
    const id = await open()
    const call = { 'idempotency-key': randomUUID() }
    const close = () => post(`/api/admin/discrepancies/${id}/close`, { reason: 'why' }, call)
    const first = await close()
    const second = await close()
    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.bytes).toEqual(first.bytes)
    expect(second.headers['idempotent-replayed']).toBe('true')
  })

  test('that do not exist are a 404, and an unknown state filter is a 400', async () => {
    const path = `/api/admin/discrepancies/dis_${'0'.repeat(26)}/close`
    expectProblem(await post(path, { reason: 'why' }), 404, 'not_found', 'none')
    expectProblem(await get('/api/admin/discrepancies?state=lost'), 400, 'invalid_request', 'same')
  })
})

describe('GET /api/admin/audit', () => {
  test('continues each page where the previous page ended', async () => {
    interface Page {
      items: { seq: number; hash: string }[]
      nextCursor: string | null
    }
    const first = (await get('/api/admin/audit?limit=2')).json<Page>()
    const second = (await get(`/api/admin/audit?limit=2&cursor=${first.nextCursor}`)).json<Page>()
    const seqs = [...first.items, ...second.items].map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! - i))
    expect(first.items[0]!.hash).toMatch(/^[0-9a-f]{64}$/)
  })

  test.each(['outcome=maybe', 'limit=0', 'cursor=x', 'actor=', 'who=me'])('?%s is a 400', async (query) => {
    expectProblem(await get(`/api/admin/audit?${query}`), 400, 'invalid_request', 'same')
  })
})
