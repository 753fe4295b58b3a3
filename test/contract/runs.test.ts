// Runs by hand over HTTP: of the daemons, and of one action on many keys.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashSecret } from '../../lib/secret'
import {
  ADMIN_TOKEN,
  type Answer,
  freshKey,
  type Headers,
  orderBody,
  type RecordView,
  send,
  until,
} from '../support/client'
import { expectProblem } from '../support/problem'
import { openSite, type Site } from '../support/site'
import { runSql } from '../support/tenant'

let site: Site
let viewer: string
beforeAll(async () => {
  site = await openSite()
  viewer = `oo_op_${randomUUID()}`
  await runSql(
    site.databaseUrl,
    `INSERT INTO operator_tokens (id, name, role, hash, created_by) VALUES ('tok_viewer', 'viewer', 'viewer', $1, 'a test')`,
    [hashSecret(viewer)],
  )
})
afterAll(() => site?.close())

interface RunView {
  id: string
  kind: string
  dryRun: boolean
  state: string
  done: number
  total: number | null
  counts: Record<string, number>
  sample: string[]
  startedAt: string
  finishedAt: string | null
  requestedBy: string
  scheduled: boolean
  reason: string | null
  error: string | null
  items?: { position: number; recordId: string; outcome: Record<string, unknown> | null; doneAt: string | null }[]
  nextItemsCursor?: string | null
}

function call(method: 'GET' | 'POST', path: string, body?: unknown, headers: Headers = {}, token = ADMIN_TOKEN) {
  return send(new URL(`/api/admin/${path}`, site.url), {
    method,
    body,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  })
}
const post = (path: string, body?: unknown, headers?: Headers, token?: string): Promise<Answer> =>
  call('POST', path, body, headers, token)
const get = (path: string, token = viewer): Promise<Answer> => call('GET', path, undefined, {}, token)
const runOf = async (id: string, query = '') => (await get(`runs/${id}${query}`)).json<RunView>()
const ended = (id: string) =>
  until(
    () => runOf(id),
    ({ state }) => state !== 'running',
  )

async function unknownKey(paymentMethod = 'pm_timeout_charged') {
  const key = freshKey()
  const body = orderBody({ paymentMethod })
  await site.client.order(key, body)
  const [row] = await runSql<{ id: string }>(site.databaseUrl, 'SELECT id FROM idempotency_records WHERE key = $1', [
    key,
  ])
  return { key, body, id: row!.id }
}

describe.each(['sweeper', 'reaper', 'reconciler', 'ledger'])('POST %s/runs', (kind) => {
  test('answers 201 with the ended run, also without a request body', async () => {
    const answer = await post(`${kind}/runs`)
    expect(answer.status).toBe(201)
    expect(answer.json<RunView>()).toStrictEqual({
      id: expect.stringMatching(/^run_[0-9a-z]{26}$/),
      kind,
      action: null,
      dryRun: false,
      state: 'succeeded',
      done: expect.any(Number),
      total: expect.any(Number),
      counts: expect.any(Object),
      sample: expect.any(Array),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      requestedBy: 'ADMIN_TOKEN',
      scheduled: false,
      reason: null,
      error: null,
    })
  })

  test('is audited with its reason and forbidden for viewers', async () => {
    const { id } = (await post(`${kind}/runs`, { dryRun: true, reason: 'to see' })).json<RunView>()
    expect(
      await runSql(site.databaseUrl, 'SELECT action, reason, after FROM audit_entries WHERE target = $1', [id]),
    ).toEqual([{ action: `${kind}.run`, reason: 'to see', after: { dryRun: true } }])
    expectProblem(await post(`${kind}/runs`, {}, {}, viewer), 403, 'forbidden', 'none')
  })

  test('starts one run for one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': freshKey() }
    const [first, second] = [
      await post(`${kind}/runs`, { dryRun: true }, headers),
      await post(`${kind}/runs`, { dryRun: true }, headers),
    ]
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.bytes.equals(first.bytes)).toBe(true)
    expectProblem(await post(`${kind}/runs`, { dryRun: false }, headers), 422, 'idempotency_key_reused', 'new')
  })

  test.each([{ dryRun: 'yes' }, { dryrun: true }, { reason: '' }])('refuses %o', async (body) => {
    expectProblem(await post(`${kind}/runs`, body), 400, 'invalid_request', 'same')
  })
})

test('a dry run of the reconciler counts what the next run does, and changes nothing', async () => {
  const { id, key } = await unknownKey()
  const dry = (await post('reconciler/runs', { dryRun: true })).json<RunView>()
  expect(dry).toMatchObject({ dryRun: true, counts: { lookUps: expect.any(Number) } })
  expect(dry.sample).toContain(id)
  expect((await site.client.record(key)).json<RecordView>().state).toBe('unknown')
  const run = (await post('reconciler/runs')).json<RunView>()
  expect(run.counts.lookUps).toBe(dry.counts.lookUps)
  expect((await site.client.record(key)).json<RecordView>().state).toBe('completed')
})

describe('POST keys/bulk', () => {
  test('processes the keys that are named by id and keeps the outcome of each', async () => {
    const [charged, lost] = [await unknownKey(), await unknownKey('pm_unreachable')]
    const nobody = 'idem_00000000000000000000000000'
    const answer = await post('keys/bulk', { action: 'reconcile', ids: [charged.id, nobody, lost.id], reason: 'look' })
    expect(answer.status).toBe(201)
    const made = answer.json<RunView>()
    expect(made).toMatchObject({ kind: 'bulk', state: 'running', total: 3, reason: 'look', requestedBy: 'ADMIN_TOKEN' })
    expect(await ended(made.id)).toMatchObject({
      state: 'succeeded',
      done: 3,
      items: [
        { position: 1, recordId: charged.id, outcome: { verdict: 'succeeded', state: 'completed', settled: true } },
        { position: 2, recordId: nobody, outcome: { error: 'not_found' } },
        { position: 3, recordId: lost.id, outcome: { verdict: 'unreachable', state: 'unknown', settled: false } },
      ],
      nextItemsCursor: null,
    })
    expect((await site.client.order(charged.key, charged.body)).status).toBe(201)
  })

  test('starts a run that lists its keys page by page', async () => {
    const ids = Array.from({ length: 5 }, (_, i) => `idem_0000000000000000000000000${i}`)
    const { id } = (await post('keys/bulk', { action: 'reconcile', ids, reason: 'look' })).json<RunView>()
    await ended(id)
    const seen: string[] = []
    let query = '?limit=2'
    for (;;) {
      const { items, nextItemsCursor } = await runOf(id, query)
      seen.push(...items!.map(({ recordId }) => recordId))
      if (!nextItemsCursor) break
      query = `?limit=2&itemsCursor=${nextItemsCursor}`
    }
    expect(seen).toEqual(ids)
  })

  test('processes the keys that match a filter', async () => {
    const { id, key } = await unknownKey()
    const filter = { state: ['unknown'], endpoint: 'POST /api/orders', q: key }
    const made = (await post('keys/bulk', { action: 'reconcile', filter, reason: 'look' })).json<RunView>()
    expect(made.sample).toEqual([id])
    expect(await ended(made.id)).toMatchObject({ state: 'succeeded', done: 1 })
  })

  test('starts one run for one Idempotency-Key', async () => {
    const body = { action: 'reconcile', ids: ['idem_00000000000000000000000000'], reason: 'look' }
    const headers = { 'idempotency-key': freshKey() }
    const answers = [await post('keys/bulk', body, headers), await post('keys/bulk', body, headers)]
    expect(new Set(answers.map((answer) => answer.json<RunView>().id)).size).toBe(1)
  })

  test.each([
    ['ids together with a filter', { ids: ['idem_1'], filter: {} }],
    ['neither ids nor a filter', {}],
    ['an empty list of ids', { ids: [] }],
    ['a missing reason', { ids: ['idem_1'], reason: undefined }],
    ['an unknown action', { ids: ['idem_1'], action: 'delete' }],
    ['a filter by an unknown field', { filter: { colour: 'red' } }],
  ])('refuses %s', async (_, wrong) => {
    const answer = await post('keys/bulk', { action: 'reconcile', reason: 'look', ...wrong })
    expectProblem(answer, 400, 'invalid_request', 'same')
  })

  test('is forbidden for viewers', async () => {
    const body = { action: 'reconcile', ids: ['idem_1'], reason: 'look' }
    expectProblem(await post('keys/bulk', body, {}, viewer), 403, 'forbidden', 'none')
  })
})

describe('the history of runs', () => {
  test('is newest first, filtered by kind and dryRun, page by page', async () => {
    for (let i = 0; i < 3; i++) await post('reaper/runs', { dryRun: true })
    const seen: RunView[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor ? `&cursor=${cursor}` : ''
      const page = (await get(`runs?kind=reaper&dryRun=true&limit=2${query}`)).json<{
        items: RunView[]
        nextCursor: string | null
      }>()
      seen.push(...page.items)
      cursor = page.nextCursor
    } while (cursor)
    expect(seen.length).toBeGreaterThanOrEqual(3)
    expect(seen.every(({ kind, dryRun }) => kind === 'reaper' && dryRun)).toBe(true)
    const times = seen.map(({ startedAt }) => startedAt)
    expect(times).toEqual([...times].sort().reverse())
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length)
  })

  test.each(['kind=cleaner', 'state=done', 'dryRun=1', 'limit=0', 'limit=201', 'cursor=bm90IG91cnM', 'colour=red'])(
    'refuses %s',
    async (query) => {
      expectProblem(await get(`runs?${query}`), 400, 'invalid_request', 'same')
    },
  )

  test('answers 404 for an unknown run id and for a malformed one', async () => {
    for (const id of ['run_00000000000000000000000000', 'nothing'])
      expectProblem(await get(`runs/${id}`), 404, 'not_found', 'none')
  })
})

test('a run that has ended can’t be stopped', async () => {
  const { id } = (await post('sweeper/runs')).json<RunView>()
  expectProblem(await post(`runs/${id}/abort`, undefined, {}, viewer), 403, 'forbidden', 'none')
  expectProblem(await post(`runs/${id}/abort`), 409, 'already_ended', 'none')
  expectProblem(await post('runs/run_00000000000000000000000000/abort'), 404, 'not_found', 'none')
})
