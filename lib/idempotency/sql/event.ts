// One event of a record's timeline. It is appended by the very UPDATE that it tells of (the trigger refuses a move
// without one) and lives in the record's own row: a move is one row version, not two tables.
import sql, { type Sql } from 'sql-template-tag'

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
    | 'expired'
  /** Who: a node, or the actor that moved it. */
  by: string
  attempt?: number
  requestId?: string
  recoveryPoint?: string
  code?: string
  status?: number
  source?: string
  verdict?: string
}

/** Every statement reads the database's clock once, as `now.at`. */
export const NOW: Sql = sql`(SELECT clock_timestamp() AS at) now`

/** Whether evidence of either kind was kept for the record, read from its own row: no snapshot can be too old for it. */
export const HAS_EVIDENCE: Sql = sql`timeline @> '[{"event": "evidence"}]'`

export const appended = (event: TimelineEvent): Sql => sql`timeline || ${created(event)}`
export const created = (event: TimelineEvent): Sql =>
  sql`jsonb_build_array(jsonb_build_object('at', now.at) || ${JSON.stringify(event)}::jsonb)`
