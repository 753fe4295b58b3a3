import pg from 'pg'
import { ulid } from 'ulid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EffectKind, EffectRequest, Gateway, LookUpRequest } from '../../lib/payments/gateway'
import { createSandbox, listCharges } from '../../lib/payments/sandbox'
import { cloneDatabase } from '../support/database'

// Waited for in full by every wait that times out, yet long enough for a statement on a busy machine.
const SHORT_MS = 300
const LONG_MS = 10_000

let database: Awaited<ReturnType<typeof cloneDatabase>>
let pool: pg.Pool

beforeAll(async () => {
  database = await cloneDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 20 })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

function sandbox(idempotent: boolean, timeLimitMs = LONG_MS): Gateway {
  return createSandbox({ pool, idempotent, timeLimitMs })
}

function effect(kind: EffectKind, name: string): EffectRequest & LookUpRequest {
  const id = ulid()
  const words =
    kind === 'charge' ? { paymentMethod: `pm_${name}` } : { paymentMethod: 'pm_ok', reason: `sandbox:${name}` }
  const what = { orderId: `ord_${id}`, customerId: `cus_${id}`, amountCents: 2_000_000_000, currency: 'USD' }
  const sentAs = { keyDigest: `digest_${id}`, fingerprint: `v1:${id}` }
  return { kind, providerKey: `key_${id}`, ...sentAs, reservedAt: new Date(0), until: new Date(), ...what, ...words }
}

/** Everything in the ledger, also what is still on its way. */
async function entries(request: EffectRequest) {
  const { rows } = await pool.query(
    `SELECT ref, status, booked_at > clock_timestamp() AS on_its_way FROM sandbox.charges
     WHERE provider_key = $1 ORDER BY booked_at, ref`,
    [request.providerKey],
  )
  return rows as { ref: string; status: string; on_its_way: boolean }[]
}

function found(request: EffectRequest) {
  return { ...succeeded(request), createdAt: expect.any(Date) }
}

async function elapsedMs<T>(work: () => Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now()
  return [await work(), performance.now() - startedAt]
}

const TIMEOUT = { kind: 'unclear', code: 'timeout' }
const SUCCEEDED = expect.objectContaining({ kind: 'succeeded', providerRef: expect.any(String) })
const succeeded = ({ kind: effect, amountCents, currency, orderId }: EffectRequest) => ({
  kind: 'succeeded',
  providerRef: expect.any(String),
  effect,
  amountCents,
  currency,
  orderId,
})

describe.concurrent.each([
  { idempotent: true, kind: 'charge' },
  { idempotent: true, kind: 'refund' },
  { idempotent: false, kind: 'charge' },
  { idempotent: false, kind: 'refund' },
] as const)('a sandbox $kind, idempotent: $idempotent', ({ idempotent, kind }) => {
  const afterTwo = idempotent ? 1 : 2

  it('ok: charges, answers, and is found by a lookup at once', async () => {
    const request = effect(kind, 'ok')
    const first = await sandbox(idempotent).execute(request)
    const prefix = kind === 'charge' ? 'sbx_ch_' : 'sbx_re_'
    expect(first).toEqual({
      ...succeeded(request),
      providerRef: expect.stringMatching(`^${prefix}[0-7][0-9a-hjkmnp-tv-z]{25}$`),
    })
    expect(await sandbox(idempotent).lookUp(request)).toEqual({ ...found(request), ...first })

    const second = await sandbox(idempotent).execute(request)
    expect(second.kind).toBe('succeeded')
    expect(await entries(request)).toHaveLength(afterTwo)
    if (idempotent) expect(second).toEqual(first)
    else expect(second).not.toEqual(first)
  })

  it('declined: books a failed payment, and both answer and lookup say declined', async () => {
    const request = effect(kind, 'declined')
    const first = await sandbox(idempotent).execute(request)
    expect(first).toEqual({ kind: 'declined', providerRef: expect.any(String) })
    expect(await entries(request)).toMatchObject([{ status: 'failed' }])
    expect(await sandbox(idempotent).lookUp(request)).toEqual(first)

    const second = await sandbox(idempotent).execute(request)
    expect(second.kind).toBe('declined')
    if (idempotent) expect(second).toEqual(first)
    expect(await entries(request)).toHaveLength(afterTwo)
  })

  it('slow: answers when its delay has passed', async () => {
    const request = effect(kind, 'slow_150')
    const [outcome, ms] = await elapsedMs(() => sandbox(idempotent).execute(request))
    expect(outcome).toEqual(SUCCEEDED)
    expect(ms).toBeGreaterThan(148)
    expect(ms).toBeLessThan(2_000)
  })

  it.each([`slow_${SHORT_MS}`, 'slow_99999'])(
    '%s: charges, and times out when its delay reaches the time limit',
    async (name) => {
      const request = effect(kind, name)
      const [outcome, ms] = await elapsedMs(() => sandbox(idempotent, SHORT_MS).execute(request))
      expect(outcome).toEqual(TIMEOUT)
      expect(ms).toBeLessThan(2_000)
      expect(await sandbox(idempotent).lookUp(request)).toEqual(found(request))
    },
  )

  it('timeout_charged: charges, and every attempt times out', async () => {
    const request = effect(kind, 'timeout_charged')
    const [outcome, ms] = await elapsedMs(() => sandbox(idempotent, SHORT_MS).execute(request))
    expect(outcome).toEqual(TIMEOUT)
    expect(ms).toBeGreaterThan(SHORT_MS - 2)
    expect(await sandbox(idempotent).lookUp(request)).toEqual(found(request))
    expect(await sandbox(idempotent, SHORT_MS).execute(request)).toEqual(TIMEOUT)
    expect(await entries(request)).toHaveLength(afterTwo)
  })

  it('timeout_lost_once: the first attempt times out without a charge, the second succeeds', async () => {
    const request = effect(kind, 'timeout_lost_once')
    const [outcome, ms] = await elapsedMs(() => sandbox(idempotent, SHORT_MS).execute(request))
    expect(outcome).toEqual(TIMEOUT)
    expect(ms).toBeGreaterThan(SHORT_MS - 2)
    expect(await entries(request)).toEqual([])
    expect(await sandbox(idempotent).lookUp(request)).toEqual({ kind: 'not_found' })
    expect(await sandbox(idempotent).execute(request)).toEqual(SUCCEEDED)
    expect(await entries(request)).toHaveLength(1)
  })

  it('late_once: is visible to lookup and list only once it is booked', async () => {
    const request = effect(kind, 'late_60000_once')
    expect(await sandbox(idempotent, SHORT_MS).execute(request)).toEqual(TIMEOUT)
    expect(await entries(request)).toMatchObject([{ status: 'succeeded', on_its_way: true }])
    expect(await sandbox(idempotent).lookUp(request)).toEqual({ kind: 'not_found' })
    expect((await listCharges(pool, request)).items).toEqual([])

    await pool.query('UPDATE sandbox.charges SET booked_at = clock_timestamp() WHERE provider_key = $1', [
      request.providerKey,
    ])
    await untilBooked(request)
    expect(await sandbox(idempotent).lookUp(request)).toEqual(found(request))
    expect((await listCharges(pool, request)).items).toHaveLength(1)
  })

  it('late_once: is booked when its delay has passed by the database clock', async () => {
    const request = effect(kind, 'late_200_once')
    const { rows } = await pool.query('SELECT clock_timestamp() AS at')
    expect(await sandbox(idempotent, SHORT_MS).execute(request)).toEqual(TIMEOUT)
    await untilBooked(request)
    expect(await sandbox(idempotent).lookUp(request)).toEqual(found(request))
    const [charge] = (await listCharges(pool, request)).items
    expect(Date.parse(charge?.createdAt ?? '') - rows[0].at.getTime()).toBeGreaterThan(198)
  })

  it('late_once: a second attempt succeeds at once, and charges again only without idempotency', async () => {
    const request = effect(kind, 'late_60000_once')
    await sandbox(idempotent, SHORT_MS).execute(request)
    const second = await sandbox(idempotent).execute(request)
    expect(second).toEqual(SUCCEEDED)
    expect(await sandbox(idempotent).lookUp(request)).toEqual({ ...found(request), ...second })
    expect((await entries(request)).map((entry) => entry.on_its_way)).toEqual(idempotent ? [false] : [false, true])
  })

  it('refused_once: the first attempt is refused without a charge, the second succeeds', async () => {
    const request = effect(kind, 'refused_once')
    expect(await sandbox(idempotent).execute(request)).toEqual({ kind: 'not_executed', code: 'connection_refused' })
    expect(await entries(request)).toEqual([])
    expect(await sandbox(idempotent).execute(request)).toEqual(SUCCEEDED)
  })

  it('error_once: the first attempt charges behind a server error, the second succeeds', async () => {
    const request = effect(kind, 'error_once')
    expect(await sandbox(idempotent).execute(request)).toEqual({ kind: 'unclear', code: 'server_error' })
    const looked = await sandbox(idempotent).lookUp(request)
    expect(looked).toEqual(found(request))
    const second = await sandbox(idempotent).execute(request)
    expect(second).toEqual(SUCCEEDED)
    expect(await entries(request)).toHaveLength(afterTwo)
    if (idempotent) expect(looked).toMatchObject(second)
  })

  it('unreachable: every attempt times out without a charge, and every lookup fails', async () => {
    const request = effect(kind, 'unreachable')
    for (const _ of [1, 2]) {
      const [outcome, ms] = await elapsedMs(() => sandbox(idempotent, SHORT_MS).execute(request))
      expect(outcome).toEqual(TIMEOUT)
      expect(ms).toBeGreaterThan(SHORT_MS - 2)
      const looked = await sandbox(idempotent).lookUp(request)
      expect(looked).toEqual({ kind: 'unreachable', code: 'provider_unreachable' })
    }
    expect(await entries(request)).toEqual([])
  })

  it('refused_once: counts attempts separately for each provider key', async () => {
    const [one, other] = [effect(kind, 'refused_once'), effect(kind, 'refused_once')]
    expect((await sandbox(idempotent).execute(one)).kind).toBe('not_executed')
    expect((await sandbox(idempotent).execute(other)).kind).toBe('not_executed')
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => sandbox(idempotent).execute(one)))
    expect(outcomes.every((outcome) => outcome.kind === 'succeeded')).toBe(true)
  })
})

/** Waits where the time is kept: in the database. */
async function untilBooked(request: EffectRequest): Promise<void> {
  await pool.query(
    `SELECT pg_sleep(greatest(0, extract(epoch FROM max(booked_at) - clock_timestamp())) + 0.002)
     FROM sandbox.charges WHERE provider_key = $1`,
    [request.providerKey],
  )
}
