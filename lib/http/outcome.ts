// What a client is sent for what the boundary came to: the one place that says so, for the request itself and for
// whoever asks what the next one would get.
import type { Outcome } from '../idempotency/run'
import { retryAfterSeconds, toClientRecord } from '../idempotency/view'
import type { Admission } from '../tenants/limits'
import { type Preferences, preferenceApplied } from './prefer'
import { problem } from './problem'
import { json, type Parts } from './respond'

/** Of a dead letter. */
const LEFT_TO_PEOPLE =
  'The first request may have been executed. The provider could not say, and a person has to decide. Nothing runs again meanwhile.'

/** Its 409 is a 503 with `busy=503`. */
const isBusy = ({ kind }: Outcome): boolean => kind === 'in_progress' || kind === 'unknown'

export function partsOf(outcome: Outcome, admission: Admission, { busy503 }: Preferences): Parts {
  const busy = busy503 ? { status: 503 } : {}
  switch (outcome.kind) {
    case 'answered':
      return outcome.answer
    case 'accepted': {
      const record = toClientRecord(outcome.record)
      return json(202, record, {
        location: `/api/idempotency-keys/${encodeURIComponent(record.key)}?endpoint=${encodeURIComponent(record.endpoint)}`,
        'retry-after': String(record.retryAfterSeconds ?? 1),
      })
    }
    case 'in_progress':
      return problem('idempotency_key_in_progress', {
        afterSeconds: retryAfterSeconds(outcome.record) ?? undefined,
        ...busy,
      })
    case 'unknown':
      return problem('idempotency_outcome_unknown', {
        afterSeconds: retryAfterSeconds(outcome.record) ?? undefined,
        ...(outcome.record.reconcileInMs === null ? { detail: LEFT_TO_PEOPLE } : {}),
        ...busy,
      })
    case 'misuse':
      return problem('idempotency_key_reused')
    case 'expired': {
      const { resource, responseStatus } = outcome.record
      const response = responseStatus === null ? null : { status: responseStatus }
      return problem('idempotency_key_expired', { resource, response })
    }
    case 'not_executed':
      return problem('payment_provider_unavailable')
    case 'outcome_unknown':
      return problem('payment_outcome_unknown')
    case 'restoring':
      return problem('restore_in_progress', { afterSeconds: outcome.afterMs / 1000 })
    case 'not_allowed':
      return admission.ok || admission.limit === 'rate'
        ? problem('rate_limited', { afterSeconds: admission.ok ? 1 : admission.afterSeconds })
        : problem('active_key_limit', { afterSeconds: admission.afterSeconds })
  }
}

export function headersOf(outcome: Outcome, prefer: Preferences): Record<string, string | null> {
  const expiresAt = 'record' in outcome ? outcome.record.expiresAt : 'expiresAt' in outcome ? outcome.expiresAt : null
  return {
    'idempotency-expires': expiresAt?.toUTCString() ?? null,
    'idempotent-replayed': outcome.kind === 'answered' && outcome.replayed ? 'true' : null,
    'preference-applied': preferenceApplied({
      ...prefer,
      respondAsync: prefer.respondAsync && outcome.kind === 'accepted',
      busy503: prefer.busy503 && isBusy(outcome),
    }),
  }
}
