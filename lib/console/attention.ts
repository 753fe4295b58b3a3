// What needs somebody, in the order in which to look: each with its number, and with the list and the query that show its
// rows. What is quiet is there too, with zero: that it was checked is worth knowing.
import sql, { raw, type Sql } from 'sql-template-tag'
import { z } from 'zod'
import type { Store } from '../db/store'
import { type Gauges, readGauges } from '../metrics/gauges'
import { instant } from './instant'

export const CONCERNS = [
  'dead_letters',
  'oldest_unknown',
  'expired_leases',
  'misuse_spikes',
  'replay_storms',
  'open_discrepancies',
  'store_errors',
] as const

/** A tenant's last hour against the average hour of its day before. Fewer are a typo, not a spike. */
const SPIKE_LEAST = 10
const SPIKE_TIMES = 3
/** A client that does nothing else: so many replays, about one a minute or more since the first request, and still at it. */
const STORM_LEAST = 20
const STORM_A_MINUTE = 1
const LATELY = raw(`interval '10 minutes'`)
/** Nobody reads on. */
const MOST_NAMED = 20
const MOST_COUNTED = 10_000

const Rows = z
  .object({
    list: z.enum(['keys', 'misuse', 'discrepancies']),
    query: z.string().meta({ example: 'deadLettered=true' }),
  })
  .meta({ id: 'ShownRows', description: 'The list that shows them, and its query' })

export const Attention = z
  .object({
    concern: z.enum(CONCERNS),
    count: z.number().meta({ description: '0: checked, and quiet' }),
    rows: Rows.nullable(),
    oldestSeconds: z.number().optional().meta({ description: 'With oldest_unknown' }),
    tenants: z
      .array(
        z.object({
          id: z.string(),
          name: z.string().nullable(),
          count: z.number().meta({ description: 'In the last hour' }),
          usual: z.number().meta({ description: 'An hour, over its last day' }),
          rows: Rows,
        }),
      )
      .optional()
      .meta({ description: 'With misuse_spikes' }),
    keys: z
      .array(
        z.object({
          id: z.string(),
          key: z.string(),
          tenantId: z.string(),
          replayCount: z.int(),
          lastReplayedAt: z.iso.datetime(),
        }),
      )
      .optional()
      .meta({ description: 'With replay_storms' }),
  })
  .meta({ id: 'Attention', description: 'What needs somebody, or was checked and is quiet' })
export type Attention = z.infer<typeof Attention>

interface Row {
  now: Date
  expired_leases: number
  spikes: { id: string; name: string | null; count: number; usual: number }[]
  storms: number
  stormy: { id: string; key: string; tenantId: string; replayCount: number; lastReplayedAt: string }[]
  discrepancies: number
  store_errors: number
}

export async function readAttention(
  store: Pick<Store, 'query'>,
  gauges: Promise<Gauges> = readGauges(store),
): Promise<Attention[]> {
  const [{ deadLetters, records, oldestUnknownSeconds }, [row]] = await Promise.all([
    gauges,
    store.query<Row>(statement),
  ])
  const { now, expired_leases, spikes, storms, stormy, discrepancies, store_errors } = row!
  const hourAgo = instant(new Date(now.getTime() - 3_600_000))
  const keys = (query: string) => ({ list: 'keys' as const, query })
  const misuse = (more: string) => ({ list: 'misuse' as const, query: `${more}from=${encodeURIComponent(hourAgo)}` })
  return [
    { concern: 'dead_letters', count: deadLetters, rows: keys('deadLettered=true') },
    {
      concern: 'oldest_unknown',
      count: records.unknown.count,
      oldestSeconds: oldestUnknownSeconds,
      rows: keys('state=unknown&sort=createdAt'),
    },
    { concern: 'expired_leases', count: expired_leases, rows: keys('state=in_progress&sort=createdAt') },
    {
      concern: 'misuse_spikes',
      count: spikes.length,
      tenants: spikes.map((spike) => ({ ...spike, rows: misuse(`tenant=${encodeURIComponent(spike.id)}&`) })),
      rows: misuse(''),
    },
    {
      concern: 'replay_storms',
      count: storms,
      keys: stormy.map((key) => ({ ...key, lastReplayedAt: instant(key.lastReplayedAt) })),
      rows: keys('sort=-replayCount'),
    },
    {
      concern: 'open_discrepancies',
      count: discrepancies,
      rows: { list: 'discrepancies', query: 'state=open' },
    },
    // They left nothing behind that could be listed: the store could not be asked.
    { concern: 'store_errors', count: store_errors, rows: null },
  ]
}

const counted = (rows: Sql): Sql => sql`(SELECT count(*) FROM (${rows} LIMIT ${raw(String(MOST_COUNTED))}) few)::float8`
const named = (rows: Sql): Sql => sql`(SELECT coalesce(json_agg(x), '[]') FROM (${rows}) x)`

// Literal numbers, so that a partial index is seen to fit.
const STORMY = sql`
  FROM idempotency_records r, clock
  WHERE r.replay_count >= ${raw(String(STORM_LEAST))} AND r.last_replayed_at >= clock.now - ${LATELY}
    AND r.replay_count >= ${raw(String(STORM_A_MINUTE))} * extract(epoch FROM r.last_replayed_at - r.created_at) / 60`

const statement = sql`
  WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
  misused AS MATERIALIZED (
    SELECT m.tenant_id, coalesce(sum(m.value) FILTER (WHERE m.at >= clock.now - interval '1 hour'), 0) AS lately,
      coalesce(sum(m.value) FILTER (WHERE m.at < clock.now - interval '1 hour'), 0) / 24 AS usual
    FROM clock, metric_minutes m
    WHERE m.metric = 'reserve_key_misuse' AND m.at >= clock.now - interval '25 hours'
    GROUP BY m.tenant_id
  )
  SELECT clock.now,
    ${counted(sql`
      SELECT FROM idempotency_records WHERE state = 'in_progress' AND locked_until <= clock.now`)} AS expired_leases,
    ${named(sql`
      SELECT m.tenant_id AS id, t.name, m.lately AS count, m.usual FROM misused m LEFT JOIN tenants t ON t.id = m.tenant_id
      WHERE m.lately >= ${raw(String(SPIKE_LEAST))} AND m.lately > ${raw(String(SPIKE_TIMES))} * m.usual
      ORDER BY m.lately - m.usual DESC, m.tenant_id LIMIT ${raw(String(MOST_NAMED))}`)} AS spikes,
    ${counted(sql`SELECT ${STORMY}`)} AS storms,
    ${named(sql`
      SELECT r.id, r.key, r.tenant_id AS "tenantId", r.replay_count AS "replayCount", r.last_replayed_at AS "lastReplayedAt"
      ${STORMY} ORDER BY r.replay_count DESC, r.created_at DESC, r.id DESC LIMIT ${raw(String(MOST_NAMED))}`)} AS stormy,
    ${counted(sql`SELECT FROM discrepancies WHERE closed_at IS NULL`)} AS discrepancies,
    (SELECT coalesce(sum(value), 0) FROM metric_minutes
     WHERE metric = 'store_error' AND at >= clock.now - interval '1 hour')::float8 AS store_errors
  FROM clock`
