// What a use case says instead of doing it. Expected outcomes are returned, never thrown; http gives each its status.

const REFUSALS = [
  'forbidden',
  'not_found',
  'invalid_request',
  'changed_since_loaded',
  'not_resolvable',
  'settle_window_open',
  'contradicts_provider',
  'provider_ref_taken',
  'not_expirable',
  'not_reversible',
  'not_runnable',
  'not_abortable',
  'not_dead_lettered',
  'nothing_to_ask',
  'already_created',
  'already_exists',
  'already_closed',
  'already_ended',
  'already_running',
  'last_admin',
  'too_many_keys',
  'unauthenticated',
  'rate_limited',
] as const
export type RefusalCode = (typeof REFUSALS)[number]

export interface RefusalDetails {
  detail?: string
  issues?: { path: string; message: string }[]
  afterSeconds?: number
  /** With changed_since_loaded: what it is now. */
  current?: { state: string; version: number }
}

export interface Refused extends RefusalDetails {
  refused: RefusalCode
}

export const refuse = (refused: RefusalCode, details: RefusalDetails = {}): Refused => ({ refused, ...details })

export const isRefused = (result: unknown): result is Refused =>
  typeof result === 'object' && result !== null && 'refused' in result
