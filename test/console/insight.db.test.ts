// Lists of misuse, discrepancies and the audit log: newest first, every row once, filtered as asked; and how a discrepancy
// is closed.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appendAudit } from '../../lib/audit/append'
import { type AuditEntry, type AuditFilter, listAudit } from '../../lib/audit/read'
import { verifyAudit } from '../../lib/audit/verify'
import {
  closeDiscrepancy,
  type Discrepancy,
  type DiscrepancyFilter,
  listDiscrepancies,
} from '../../lib/console/discrepancies'
import { listMisuse, type MisuseFilter, type MisusePosition, type MisuseRow } from '../../lib/console/misuse'
import { callOf } from '../../lib/operators/actor'
import type { Position } from '../../lib/operators/page'
import { type Bench, barrier, before, openBench } from '../support/boundary'

const ORDERS = 'POST /api/orders'
const REFUNDS = 'POST /api/orders/{id}/refunds'
let bench: Bench
beforeAll(async () => {
  bench = await openBench()
  await bench.db.query(`INSERT INTO tenants (id, name) VALUES ('ten_a', 'acme'), ('ten_b', 'other')`)
})
afterAll(() => bench.close())

/** All pages of a list, one after the other. */
async function walk<Item, Position>(
  list: (page: { limit: number; after: Position | null }) => Promise<{ items: Item[]; next: Position | null }>,
  limit = 3,
): Promise<Item[]> {
  const all: Item[] = []
  for (let after: Position | null = null; ; ) {
    const { items, next } = await list({ limit, after })
    all.push(...items)
    if (!next) return all
    expect(items).toHaveLength(limit)
    after = next
  }
}

describe('misuse', () => {
  beforeAll(() =>
    // Pairs of one instant: the id decides.
    bench.db.query(
      `INSERT INTO misuse (id, at, tenant_id, endpoint, key, record_id, changed_paths, request_id)
       SELECT 'mis_' || i, '2026-11-16T12:00:00Z'::timestamptz - i / 2 * interval '1 min', CASE i % 3 WHEN 0 THEN 'ten_a' ELSE 'ten_b' END,
         CASE i % 2 WHEN 0 THEN $1 ELSE $2 END, 'key-' || i, 'idem_' || i % 4, ARRAY['$.currency'], 'req_' || i
       FROM generate_series(10, 29) i`,
      [ORDERS, REFUNDS],
    ),
  )
  const ids = async (filter: MisuseFilter = {}) =>
    (await walk<MisuseRow, MisusePosition>((page) => listMisuse(bench.store, { ...filter, ...page }))).map(({ id }) =>
      Number(id.slice(4)),
    )
  const every = Array.from({ length: 20 }, (_, i) => 10 + i)
  /** By minute, newest first; in one minute the higher id. */
  const sorted = (numbers: number[]) => numbers.sort((a, b) => Math.floor(a / 2) - Math.floor(b / 2) || b - a)

  it('is listed newest first, every row once', async () => {
    expect(await ids()).toEqual(sorted([...every]))
    expect(await listMisuse(bench.store, { limit: 1, after: null })).toMatchObject({
      items: [
        {
          at: '2026-11-16T11:55:00.000Z',
          tenantId: 'ten_b',
          endpoint: REFUNDS,
          key: 'key-11',
          recordId: 'idem_3',
          changedPaths: ['$.currency'],
          requestId: 'req_11',
        },
      ],
    })
  })

  it.each<[MisuseFilter, (i: number) => boolean]>([
    [{ tenant: 'ten_a' }, (i) => i % 3 === 0],
    [{ tenant: 'acme' }, (i) => i % 3 === 0],
    [{ tenant: 'nobody' }, () => false],
    [{ endpoint: ORDERS }, (i) => i % 2 === 0],
    [{ endpoint: 'refunds' }, (i) => i % 2 === 1],
    [{ recordId: 'idem_2' }, (i) => i % 4 === 2],
    [{ from: '2026-11-16T11:50:00Z' }, (i) => Math.floor(i / 2) <= 10],
    [{ to: '2026-11-16T11:50:00Z' }, (i) => Math.floor(i / 2) > 10],
    [{ tenant: 'ten_b', endpoint: ORDERS, from: '2026-11-16T11:48:00Z' }, (i) => i % 3 !== 0 && i % 2 === 0 && i < 26],
  ])('is filtered by %j', async (filter, fits) => {
    expect(await ids(filter)).toEqual(sorted(every.filter(fits)))
  })
})

describe('discrepancies', () => {
  const open = async (minute = 0) => {
    const id = `dis_${randomUUID().replaceAll('-', '')}`
    await bench.db.query(
      `INSERT INTO discrepancies (id, kind, subject, record_id, detail, created_at)
       VALUES ($1, 'missing_here', $1, $2, '{"ref": "ch_1"}', '2026-11-16T12:00:00Z'::timestamptz + $3 * interval '1 min')`,
      [id, `idem_of_${id}`, minute],
    )
    return id
  }
  const ids = async (filter: DiscrepancyFilter) =>
    (await walk<Discrepancy, Position>((page) => listDiscrepancies(bench.store, { ...filter, ...page }))).map(
      ({ id }) => id,
    )
  const operator = () => callOf({ id: 'opr_1', name: 'Ada', role: 'operator' }, `req_${randomUUID()}`)

  it('are listed newest first, and filtered by open, closed or all', async () => {
    await bench.db.query('TRUNCATE discrepancies')
    const made: string[] = []
    for (let i = 0; i < 8; i++) made.unshift(await open(i))
    const closed = made.filter((_, i) => i % 2)
    for (const id of closed) await closeDiscrepancy(bench.store, operator(), { id, reason: 'looked into' })
    expect(await ids({ state: 'all' })).toEqual(made)
    expect(await ids({ state: 'closed' })).toEqual(closed)
    expect(await ids({ state: 'open' })).toEqual(made.filter((id) => !closed.includes(id)))
    expect(await ids({ state: 'open', recordId: `idem_of_${made[0]}` })).toEqual([made[0]])
  })

  it('are closed with operator and reason, both also in the audit log', async () => {
    const id = await open()
    const call = operator()
    const closed = await closeDiscrepancy(bench.store, call, { id, reason: 'refunded by hand' })
    expect(closed).toMatchObject({ id, closedBy: { id: 'opr_1' }, reason: 'refunded by hand' })
    const { items } = await listAudit(bench.store, { target: id, limit: 10, after: null })
    expect(items).toMatchObject([
      {
        actorId: 'opr_1',
        actorName: 'Ada',
        action: 'discrepancy.close',
        target: id,
        outcome: 'done',
        reason: 'refunded by hand',
        before: { open: true },
        after: { open: false, kind: 'missing_here', recordId: `idem_of_${id}` },
        requestId: call.requestId,
      },
    ])
  })

  it('are closed by the first of two operators only, and audited once', async () => {
    const id = await open()
    const held = barrier()
    const late = before(bench.store, (statement) => statement.text.includes('UPDATE discrepancies'), held.pass)
    const second = closeDiscrepancy(late, operator(), { id, reason: 'second' })
    await held.reached
    await closeDiscrepancy(bench.store, operator(), { id, reason: 'first' })
    held.open()
    expect(await second).toEqual({ refused: 'already_closed' })
    const [row] = await bench.rows('SELECT reason FROM discrepancies WHERE id = $1', [id])
    expect(row).toEqual({ reason: 'first' })
    expect((await listAudit(bench.store, { target: id, limit: 10, after: null })).items).toHaveLength(1)
  })

  it('that do not exist can’t be closed, and nothing is audited', async () => {
    expect(await closeDiscrepancy(bench.store, operator(), { id: 'dis_none', reason: 'why' })).toEqual({
      refused: 'not_found',
    })
    expect((await listAudit(bench.store, { target: 'dis_none', limit: 10, after: null })).items).toEqual([])
  })
})

describe('the audit log', () => {
  const people = [
    { id: 'opr_ada', name: 'Ada' },
    { id: 'tok_nightly', name: 'nightly' },
    { id: 'opr_grace', name: 'Grace' },
  ]
  beforeAll(async () => {
    await bench.db.query(`INSERT INTO operators (id, name, email) VALUES ('opr_ada', 'Ada Byron', 'ada@example.com')`)
    await bench.db.query(
      `INSERT INTO operator_tokens (id, name, role, hash, created_by) VALUES ('tok_nightly', 'nightly', 'operator', 'x', 'opr_ada')`,
    )
    for (let i = 0; i < 12; i++)
      await appendAudit(bench.store, {
        actor: people[i % 3]!,
        requestId: `req_audit_${i}`,
        action: i % 2 ? 'test.odd' : 'test.even',
        target: `thing_${i % 4}`,
        outcome: i === 5 ? 'forbidden' : 'done',
      })
  })
  const mine = async (filter: AuditFilter) =>
    (await walk<AuditEntry, { seq: number }>((page) => listAudit(bench.store, { ...filter, ...page })))
      .filter(({ requestId }) => requestId.startsWith('req_audit_'))
      .map(({ requestId }) => Number(requestId.slice(10)))
  const every = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]

  it('is read newest first, every entry once, by its number', async () => {
    expect(await mine({})).toEqual(every)
    const all = await walk<AuditEntry, { seq: number }>((page) => listAudit(bench.store, page))
    const numbers = all.map(({ seq }) => seq)
    expect(numbers).toEqual(numbers.map((_, i) => numbers[0]! - i))
  })

  it.each<[AuditFilter, (i: number) => boolean]>([
    [{ actor: 'opr_ada' }, (i) => i % 3 === 0],
    [{ actor: 'Ada Byron' }, (i) => i % 3 === 0],
    [{ actor: 'ada@example.com' }, (i) => i % 3 === 0],
    [{ actor: 'nightly' }, (i) => i % 3 === 1],
    [{ actor: 'nobody' }, () => false],
    [{ action: 'test.odd' }, (i) => i % 2 === 1],
    [{ target: 'thing_2' }, (i) => i % 4 === 2],
    [{ outcome: 'forbidden' }, (i) => i === 5],
    [{ outcome: 'done', actor: 'opr_grace' }, (i) => i % 3 === 2 && i !== 5],
    [{ actor: 'opr_ada', action: 'test.even', target: 'thing_0' }, (i) => i % 3 === 0 && i % 4 === 0],
  ])('is filtered by %j', async (filter, fits) => {
    expect(await mine(filter)).toEqual(every.filter(fits))
  })

  it('shows the chain’s last hash with its last entry', async () => {
    const { lastHash, entries } = await verifyAudit(bench.store)
    const [last] = (await listAudit(bench.store, { limit: 1, after: null })).items
    expect(last).toMatchObject({ seq: entries, hash: lastHash })
  })
})
