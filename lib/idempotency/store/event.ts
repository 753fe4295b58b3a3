// One event of a record's timeline. It is appended by the very UPDATE that it tells of (the trigger refuses a move
// without one) and lives in the record's own row: a move is one row version, not two tables.
import sql, { type Sql } from 'sql-template-tag'
import { currentRequestId } from '../../request-context'
import type { State } from '../states'

export interface TimelineEvent {
  event:
    | 'accepted'
    | 'reserved'
    | 'claimed'
    | 'phase'
    | 'settled'
    | 'released'
    | 'outcome_unknown'
    | 'lease_over'
    | 'abandoned'
    | 'evidence'
    | 'looked_up'
    | 'dead_lettered'
    /** An operator has an accepted request run again. */
    | 'run_again'
    /** A dead letter is looked up by schedule again. */
    | 'resumed'
    /** The attempts and look-ups between the first and the last 50: how many, and until when. Written by the database. */
    | 'summed_up'
    | 'expired'
  /** Who: a node, or the actor that moved it. */
  by: string
  attempt?: number
  /** Unless it is said: the request, run or job that this is written in. */
  requestId?: string
  recoveryPoint?: string
  code?: string
  status?: number
  source?: string
  verdict?: string
}

/**
 * The clock as the end of a range: read once, it can be the bound of an index. Bare, PostgreSQL would ask it again for
 * every row, and so look at every row.
 */
export const BY_NOW: Sql = sql`(SELECT clock_timestamp())`

/** Every statement reads the database's clock once, as `now.at`. */
export const NOW: Sql = sql`(SELECT clock_timestamp() AS at) now`

/** Whether evidence of either kind was kept for the record, read from its own row: no snapshot can be too old for it. */
export const HAS_EVIDENCE: Sql = sql`timeline @> '[{"event": "evidence"}]'`

/** Since when the outcome is unknown, or was for the last time. */
export const UNKNOWN_SINCE: Sql = sql`(SELECT max((e->>'at')::timestamptz) FROM jsonb_array_elements(timeline) e
  WHERE e->>'event' IN ('outcome_unknown', 'lease_over'))`

/** How long a record has been unknown that leaves this state; null for one that leaves another. */
export const unknownSeconds = (from: State): Sql =>
  from === 'unknown' ? sql`extract(epoch FROM clock_timestamp() - ${UNKNOWN_SINCE})::float8` : sql`NULL::float8`

/** What a further attempt or look-up begins with. */
const OPENING: readonly TimelineEvent['event'][] = ['claimed', 'looked_up', 'run_again', 'resumed']

/**
 * Only what may be one attempt or look-up too many has the length of the timeline looked at. The first and the last 50 are
 * kept: of the last, 49 that are there.
 */
export const appended = (event: TimelineEvent): Sql =>
  OPENING.includes(event.event)
    ? sql`CASE WHEN jsonb_array_length(timeline) < 100 THEN timeline
        ELSE summed_up_timeline(timeline, 49) END || ${entryOf(sql`${eventOf(event)}`)}`
    : sql`timeline || ${entryOf(sql`${eventOf(event)}`)}`

/** As it is stored, in the name of the request, job or run that is under way. */
export const eventOf = (event: TimelineEvent): string =>
  JSON.stringify({ ...event, requestId: event.requestId ?? currentRequestId() })

/** @param event what `eventOf` made */
export const entryOf = (event: Sql): Sql => sql`jsonb_build_array(jsonb_build_object('at', now.at) || ${event}::jsonb)`
