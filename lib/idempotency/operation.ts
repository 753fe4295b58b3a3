// What an endpoint tells the boundary about itself. The boundary knows no domain: it sees effects as SQL that
// commits with its own moves, and the outside world as verdicts.
//
// An operation is: what commits with the reservation, local phases (each a commit of its own), and one external
// phase. More than one external effect behind one key would need a key each; see docs/decisions.
import type { Sql } from 'sql-template-tag'

export interface Answer {
  status: number
  headers: Record<string, string>
  /** The bytes to replay, as they were first sent. */
  body: string
}

export interface Resource {
  type: string
  id: string
}

/** What a client asked for, as it was validated; stored until the key expires. */
export interface Input<Body = unknown> {
  params: Record<string, string>
  body: Body
}

/** Common table expressions (`name AS (…)`) that run in the statement of a move and read the moved row from `moved`. */
export type Effects = readonly Sql[]

/** A final answer, and what commits with it. */
export interface Settlement {
  answer: Answer
  effects: Effects
  /** The provider's reference of what was executed or declined; null where nothing was asked of it. */
  effectRef: string | null
  /** A refusal: what the key was reserved for never came into being, and the record does not name it. */
  nothingMade?: true
}

/** What a record's effect carries at the provider, to be found again when the record is lost. */
interface SentAs {
  keyDigest: string
  fingerprint: string
}

/** Everything that an attempt knows. `report` is what `begin` found out inside the reservation. */
export interface Attempt<Body, Report> extends SentAs {
  recordId: string
  tenantId: string
  number: number
  createdAt: Date
  resource: Resource
  input: Input<Body>
  report: Report
  /** The same on every attempt of this record. */
  providerKey: string
}

/** What the provider's object says of itself. It is kept with the evidence, and the operation compares it with its own. */
export interface Shown {
  effect: string
  amountCents: number
  currency: string
  orderId?: string | null
  createdAt?: Date
}

/** Why an effect is not the outcome of the record that it was found for. A person decides. */
export type Difference = 'amount_differs' | 'restored_differs'

export type Executed = {
  kind: 'succeeded' | 'declined'
  ref: string
  shown?: Shown
  /** Made for a lost record of the key, for another request or of other money. */
  restoredDiffers?: true
}
export type CallVerdict = Executed | { kind: 'not_executed'; code: string } | { kind: 'unclear'; code: string }
export type FoundByRef =
  | { kind: 'found'; providerKey: string | null; status: 'succeeded' | 'failed' | 'pending'; shown: Shown }
  | { kind: 'not_found' }
  | { kind: 'unreachable' }
export type LookUpVerdict =
  | Executed
  | { kind: 'not_found' }
  | { kind: 'pending' }
  | { kind: 'unreachable' }
  /** It has read a part of the provider's list and found nothing in it. The next look-up goes on from `progress`. */
  | { kind: 'unfinished'; progress: string }

/** What a look-up is about: what the attempts in doubt may have had executed, since the record's creation. */
export interface LookUpWindow {
  /** The latest settlesAt of these attempts: nothing of theirs is executed later. */
  until: Date
  /**
   * `until` was past before the look-up started. Only then the part of the list that it has read stays as it is, and
   * "nothing in it" may be kept: before, a call under way could still be executed and be listed there.
   */
  isPast: boolean
  /** Kept by an unfinished look-up. It names the window that it belongs to, and counts in no other. */
  progress: string | null
}

interface LocalPhase<Body, Report> {
  /** The recovery point: stored when the phase is entered, where a later attempt resumes. */
  name: string
  run(
    attempt: Attempt<Body, Report>,
  ): Promise<{ kind: 'next'; effects: Effects } | { kind: 'answer'; settlement: Settlement }>
}

interface ExternalPhase<Body, Report> {
  name: string
  /** No call or look-up takes longer. */
  timeLimitMs: number
  call(attempt: Attempt<Body, Report>): Promise<CallVerdict>
  lookUp(attempt: Attempt<Body, Report>, window: LookUpWindow): Promise<LookUpVerdict>
  /** What the provider has under a reference that a person gives, whatever record it was made for. */
  findByRef?(ref: string): Promise<FoundByRef>
  /**
   * Whether this is what the attempt asked for: its kind, its amount, its currency, its order. What is not is no proof of
   * the attempt's outcome. Without it, everything is.
   */
  matches?(attempt: Attempt<Body, Report>, shown: Shown): boolean
  /** The answer that a client gets for what was executed, whoever found it out. `shown` where a person accepted it. */
  conclude(attempt: Attempt<Body, Report>, executed: Executed): Settlement
  /** What is given back when it is proven that nothing was executed. */
  release(attempt: Attempt<Body, Report>): Effects
}

export interface Operation<Body = unknown, Report = unknown> {
  /** Method and route template: the scope of its keys, with the tenant. */
  endpoint: string
  retentionHours?: number
  /**
   * What commits with a record touches only rows of that record: then many of them may begin, and end, in one statement.
   * Two refunds of one order are not independent. Each value of its SQL is a text, a number, a boolean or null, says its
   * type where that is not text, and stands where `moved` is in the FROM.
   */
  independent?: true
  newResource(): Resource
  /** What commits with the reservation, and with each later claim. `report` is a scalar that the phases receive. */
  begin(start: { attempt: Omit<Attempt<Body, Report>, 'report' | 'createdAt' | keyof SentAs>; first: boolean }): {
    effects: Effects
    report?: Sql
  }
  /** What the reservation itself ruled out: stored as the answer, the provider is not asked. */
  refusal?(attempt: Attempt<Body, Report>): Settlement | null
  local: readonly LocalPhase<Body, Report>[]
  external: ExternalPhase<Body, Report>
  /** What `begin` reported, read again for whoever settles a record without claiming it. */
  recall(record: { id: string; tenantId: string; resource: Resource; input: Input<Body> }): Promise<Report>
  /**
   * What commits with the expiry of keys that are proven not executed, many at a time. It reads `resource_type` and
   * `resource_id` of them from `lapsed`, which has those of other operations too.
   */
  lapse?(): Effects
  /** The stored answer of an asynchronous request that nobody took up in time. */
  abandon(attempt: Omit<Attempt<Body, Report>, 'report' | keyof SentAs>): Settlement
}

/** What does not say what it is about is taken at its word. */
export function differenceOf<Body, Report>(
  { external }: Operation<Body, Report>,
  attempt: Attempt<Body, Report>,
  { shown, restoredDiffers }: Executed,
): Difference | null {
  if (restoredDiffers) return 'restored_differs'
  return shown !== undefined && external.matches?.(attempt, shown) === false ? 'amount_differs' : null
}

// biome-ignore lint/suspicious/noExplicitAny: a list of operations of different bodies and reports
export type AnyOperation = Operation<any, any>
