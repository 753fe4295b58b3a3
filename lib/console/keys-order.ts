// The ids of the keys that a filter matches, in the order of a sort. However many there are, each part of the statement
// is one walk of one index that ends after a page: a merge over states and endpoints, which are few. No OFFSET, no
// count, and no sort over more than what is running.
//
// A partial index is only used where the statement's own text implies its condition, whatever its parameters are: that
// is why states stand here as literals, and why the walks' limit does.
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { State } from '../idempotency/states'
import { IN_PROGRESS, RECORDS } from './key-sources'
import type { KeyFilter } from './keys-filter'
import { type Wanted, wantedBy } from './keys-wanted'

export const KEY_SORTS = ['-createdAt', 'createdAt', '-lockedUntil', '-replayCount', 'reconcileAfter'] as const
export type KeySort = (typeof KEY_SORTS)[number]

/** A row that was shown. Rows without the sorted value come last, newest first: theirs is null. */
export interface KeyPosition {
  value: string | number | null
  createdAt: string
  id: string
}

export interface KeyPage {
  sort: KeySort
  after?: KeyPosition | null
  /** The page that ends before this row: the same order, read from its other end. */
  before?: KeyPosition | null
  limit: number
}

export const LONGEST_PAGE = 200

/** In the index records_by_endpoint and, with its tenant, in records_by_tenant. The others are few at any time. */
const WALKED: readonly State[] = ['completed', 'failed_retryable', 'unknown', 'expired']
const IS_WALKED = raw(`r.state IN ('completed', 'failed_retryable', 'unknown', 'expired')`)

interface Rows {
  from: Sql
  which: Sql
}

/** A value that not every record has. */
interface Ranking {
  value: Sql
  type: Sql
  descending: boolean
  /** The rows that have it: an index each. */
  ranked: readonly Rows[]
  /** The rows that don't. */
  unranked: Sql
}

const RANKINGS: Partial<Record<KeySort, Ranking>> = {
  '-lockedUntil': {
    value: raw('r.locked_until'),
    type: raw('timestamptz'),
    descending: true,
    ranked: [{ from: IN_PROGRESS, which: raw('true') }],
    unranked: raw('r.locked_until IS NULL'),
  },
  reconcileAfter: {
    value: raw('r.reconcile_after'),
    type: raw('timestamptz'),
    descending: false,
    ranked: [
      sql`r.state = 'unknown' AND r.dead_lettered_at IS NULL AND r.reconcile_after IS NOT NULL`,
      sql`r.state = 'unknown' AND r.dead_lettered_at IS NOT NULL AND r.reconcile_after IS NOT NULL`,
    ].map((which) => ({ from: RECORDS, which })),
    unranked: raw('r.reconcile_after IS NULL'),
  },
  '-replayCount': {
    value: raw('r.replay_count'),
    type: raw('int'),
    descending: true,
    ranked: [{ from: RECORDS, which: raw('r.replay_count > 0') }],
    unranked: raw('r.replay_count = 0'),
  },
}

/** The `id` of each of a page's rows, and its `place`, counted from where the page begins. */
export function keysInOrder(filter: KeyFilter, { sort, after = null, before = null, limit }: KeyPage): Sql {
  const wanted = wantedBy(filter)
  const ranking = RANKINGS[sort]
  const backwards = before !== null
  const walk = {
    from: before ?? after,
    backwards,
    descending: (sort !== 'createdAt') !== backwards,
    most: Math.max(limit, LONGEST_PAGE + 1),
  }
  const direction = raw(walk.descending ? 'DESC' : 'ASC')
  const byRank = ranking ? sql`value ${raw(ranks(ranking, walk))} NULLS ${raw(backwards ? 'FIRST' : 'LAST')}, ` : empty
  const order = sql`${byRank}created_at ${direction}, id ${direction}`
  return sql`
    SELECT id, row_number() OVER (ORDER BY ${order}) AS place FROM (${partsOf(wanted, ranking, walk)}) k
    ORDER BY ${order} LIMIT ${limit}::int`
}

/** As many of them as there are, up to `most`: to be counted, in no order. */
export function someKeys(filter: KeyFilter, most: number, newerThan: KeyPosition | null = null): Sql {
  const walk = { from: newerThan, backwards: false, descending: newerThan === null, most }
  return sql`SELECT id FROM (${partsOf(wantedBy(filter), undefined, walk)}) k LIMIT ${most}::int`
}

function partsOf(wanted: Wanted, ranking: Ranking | undefined, walk: Walk): Sql {
  // Of what failed in one way there are fewer than of what has any value.
  const few = wanted.found ?? (ranking && wanted.errors ? keysWithError(wanted.errors) : null)
  if (few) return found(few, wanted, ranking, walk)
  if (!ranking) return join(byAge(wanted, walk), ' UNION ALL ')
  // First those that have the value, then the others: a page may end in either, and go over the border.
  const { from, backwards } = walk
  const inRanked = from === null || from.value !== null
  const ranked = { ...walk, from: inRanked ? from : null }
  const others = { ...walk, from: inRanked ? null : from }
  return join(
    [
      ...(inRanked || backwards ? ranking.ranked.map((rows) => byValue(wanted, ranking, rows, ranked)) : []),
      ...(inRanked && backwards ? [] : byAge(wanted, others, ranking)),
    ],
    ' UNION ALL ',
  )
}

interface Walk {
  /** It begins behind this row, in its own direction. */
  from: KeyPosition | null
  backwards: boolean
  /** By the time of creation. */
  descending: boolean
  most: number
}

const ranks = ({ descending }: Ranking, { backwards }: Walk) => (descending !== backwards ? 'DESC' : 'ASC')

const beyond = ({ from, descending }: Pick<Walk, 'from' | 'descending'>): Sql =>
  from
    ? sql`AND (r.created_at, r.id) ${raw(descending ? '<' : '>')} (${from.createdAt}::timestamptz, ${from.id})`
    : empty

/** By the time of creation; with a ranking, those without its value. */
function byAge(wanted: Wanted, at: Walk, ranking?: Ranking): Sql[] {
  const direction = raw(at.descending ? 'DESC' : 'ASC')
  const unranked = ranking ? sql`AND ${ranking.unranked}` : empty
  const walk = (which: Sql, from = RECORDS): Sql => sql`(
    SELECT r.id, NULL::${ranking?.type ?? raw('int')} AS value, r.created_at FROM ${from}
    WHERE ${which} ${wanted.conditions} ${unranked} ${beyond(at)}
    ORDER BY r.created_at ${direction}, r.id ${direction} LIMIT ${raw(String(at.most))})`
  const { states, endpoints, endpointCondition, errors } = wanted
  if (errors)
    return [
      sql`SELECT w.* FROM (${errors}) c (code), LATERAL ${walk(sql`r.last_error_code IS NOT NULL
        AND r.last_error_code = c.code AND r.state = ANY(${states}::record_state[]) ${endpointCondition}`)} w`,
    ]
  const walked = states.filter((state) => WALKED.includes(state))
  return [
    sql`SELECT w.* FROM unnest(${walked}::record_state[]) AS s (state), unnest(${endpoints}::text[]) AS e (endpoint),
      LATERAL ${walk(sql`${IS_WALKED} AND r.state = s.state AND r.endpoint = e.endpoint`)} w`,
    ...(states.includes('pending') ? [walk(sql`r.async AND r.state = 'pending' ${endpointCondition}`)] : []),
    ...(states.includes('in_progress') ? [walk(sql`true ${endpointCondition}`, IN_PROGRESS)] : []),
  ]
}

function byValue(wanted: Wanted, ranking: Ranking, { from, which }: Rows, at: Walk): Sql {
  const age = raw(at.descending ? 'DESC' : 'ASC')
  return sql`(
    SELECT r.id, ${ranking.value} AS value, r.created_at FROM ${from}
    WHERE ${which} AND r.state = ANY(${wanted.states}::record_state[]) ${wanted.conditions} ${wanted.endpointCondition}
      ${at.from ? sql`AND ${behind(ranking, at, at.from)}` : empty}
    ORDER BY ${ranking.value} ${raw(ranks(ranking, at))}, r.created_at ${age}, r.id ${age} LIMIT ${raw(String(at.most))})`
}

/** Behind a row that has the value, newest first among equals. Where all goes one way, one comparison walks the index. */
function behind(ranking: Ranking, at: Walk, from: KeyPosition): Sql {
  const { value, type } = ranking
  const age = sql`(${from.createdAt}::timestamptz, ${from.id})`
  const older = raw(at.descending ? '<' : '>')
  if (ranking.descending)
    return sql`(${value}, r.created_at, r.id) ${older} (${from.value}::${type}, ${from.createdAt}::timestamptz, ${from.id})`
  const later = raw(at.backwards ? '<' : '>')
  return sql`${value} ${later}= ${from.value}::${type}
    AND (${value} ${later} ${from.value}::${type} OR (r.created_at, r.id) ${older} ${age})`
}

const keysWithError = (errors: Sql): Sql => sql`
  SELECT e.id FROM (${errors}) c (code), LATERAL (
    SELECT id FROM idempotency_records WHERE last_error_code IS NOT NULL AND last_error_code = c.code) e`

/** Of what was searched for: few enough to be sorted. LIMIT 1 keeps it a look-up for each, whatever is estimated. */
function found(ids: Sql, wanted: Wanted, ranking: Ranking | undefined, at: Walk): Sql {
  const value = ranking ? sql`CASE WHEN NOT (${ranking.unranked}) THEN ${ranking.value} END` : sql`NULL::int`
  return sql`
    SELECT r.id, ${value} AS value, r.created_at
    FROM (${ids}) f (id), LATERAL (SELECT * FROM idempotency_records WHERE id = f.id LIMIT 1) r
    WHERE r.state = ANY(${wanted.states}::record_state[]) ${wanted.conditions} ${wanted.endpointCondition}
      ${behindFound(ranking, at)}`
}

function behindFound(ranking: Ranking | undefined, at: Walk): Sql {
  const { from, backwards } = at
  if (!from || !ranking) return beyond(at)
  const { unranked } = ranking
  if (from.value === null)
    return backwards ? sql`AND (NOT (${unranked}) OR (true ${beyond(at)}))` : sql`AND ${unranked} ${beyond(at)}`
  const further = sql`(NOT (${unranked}) AND ${behind(ranking, at, from)})`
  return backwards ? sql`AND ${further}` : sql`AND (${unranked} OR ${further})`
}
