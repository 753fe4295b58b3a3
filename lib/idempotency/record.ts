// A record as the boundary reads it. Times that decide something (lease left, past expiry) are computed by the
// database in the statement that reads them, so no node's clock has a say.
import { raw } from 'sql-template-tag'
import type { Answer, LookUpWindow, Resource } from './operation'
import type { State } from './states'

export interface KeyRecord {
  id: string
  tenantId: string
  endpoint: string
  key: string
  fingerprint: string
  state: State
  async: boolean
  attempt: number
  version: number
  recoveryPoint: string | null
  /** Evidence says that the effect happened. */
  effectEvidence: boolean
  /** Evidence says that other money was moved: only a person settles it. */
  moneyDiffers: boolean
  /** An attempt ended without its own owner's proof that nothing was executed. */
  inDoubt: boolean
  lookUp: LookUpWindow
  /** What is left of the lease; null without one, zero or less once it is over. */
  leaseLeftMs: number | null
  /** Until the next look-up of an unknown outcome. */
  reconcileInMs: number | null
  /** A look-up is under way. */
  beingAsked: boolean
  pastExpiry: boolean
  answer: Answer | null
  responseStatus: number | null
  resource: Resource | null
  createdAt: Date
  completedAt: Date | null
  expiresAt: Date
}

/** Stored with each answer, so that a later release can read what this one wrote. */
export const ANSWER_VERSION = 1

/** Of an unknown outcome every attempt is in doubt, of any other state those before the last. Without one, any bound will do. */
const DOUBT_UNTIL = "coalesce(least(CASE WHEN r.state <> 'unknown' THEN r.doubt_until END, r.settles_at), r.expires_at)"

export const LOOK_UP_COLUMNS = `
  ${DOUBT_UNTIL} AS doubt_until, ${DOUBT_UNTIL} <= clock_timestamp() AS doubt_is_past, r.look_up_progress`

export const RECORD_COLUMNS = raw(`
  r.id, r.tenant_id, r.endpoint, r.key, r.fingerprint, r.state, r.async, r.attempt, r.version, r.recovery_point,
  r.effect_evidence, r.money_differs, r.in_doubt, r.response_status, r.response_headers, r.response_body, r.resource_type, r.resource_id,
  r.created_at, r.completed_at, r.expires_at, ${LOOK_UP_COLUMNS},
  (extract(epoch FROM r.locked_until - clock_timestamp()) * 1000)::float8 AS lease_left_ms,
  (extract(epoch FROM r.reconcile_after - clock_timestamp()) * 1000)::float8 AS reconcile_in_ms,
  coalesce(r.asking_until > clock_timestamp(), false) AS being_asked,
  r.expires_at <= clock_timestamp() AS past_expiry`)

export interface RecordRow {
  id: string
  tenant_id: string
  endpoint: string
  key: string
  fingerprint: string
  state: State
  async: boolean
  attempt: number
  version: number
  recovery_point: string | null
  effect_evidence: boolean
  money_differs: boolean
  in_doubt: boolean
  doubt_until: Date
  doubt_is_past: boolean
  look_up_progress: string | null
  response_status: number | null
  response_headers: string | null
  response_body: string | null
  resource_type: string | null
  resource_id: string | null
  created_at: Date
  completed_at: Date | null
  expires_at: Date
  lease_left_ms: number | null
  reconcile_in_ms: number | null
  being_asked: boolean
  past_expiry: boolean
}

export function toRecord(row: RecordRow): KeyRecord {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    endpoint: row.endpoint,
    key: row.key,
    fingerprint: row.fingerprint,
    state: row.state,
    async: row.async,
    attempt: row.attempt,
    version: row.version,
    recoveryPoint: row.recovery_point,
    effectEvidence: row.effect_evidence,
    moneyDiffers: row.money_differs,
    inDoubt: row.in_doubt,
    lookUp: { until: row.doubt_until, isPast: row.doubt_is_past, progress: row.look_up_progress },
    leaseLeftMs: row.lease_left_ms,
    reconcileInMs: row.reconcile_in_ms,
    beingAsked: row.being_asked,
    pastExpiry: row.past_expiry,
    answer:
      row.response_status !== null && row.response_body !== null
        ? { status: row.response_status, headers: JSON.parse(row.response_headers ?? '{}'), body: row.response_body }
        : null,
    responseStatus: row.response_status,
    resource: row.resource_type && row.resource_id ? { type: row.resource_type, id: row.resource_id } : null,
    createdAt: row.created_at,
    completedAt: row.completed_at,
    expiresAt: row.expires_at,
  }
}

const PROVIDER_KEY_PREFIX = 'onceover-'
const RECORD_ID = /^idem_[0-9a-z]{26}$/

/** Stable for a record: whatever attempt calls, the provider sees the same key. */
export const providerKeyOf = (recordId: string): string => `${PROVIDER_KEY_PREFIX}${recordId}`

/** The record that a provider's object was made for; null where its key is none of ours. */
export function recordIdOf(providerKey: string): string | null {
  const id = providerKey.startsWith(PROVIDER_KEY_PREFIX) ? providerKey.slice(PROVIDER_KEY_PREFIX.length) : ''
  return RECORD_ID.test(id) ? id : null
}
