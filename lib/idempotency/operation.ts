// What an endpoint tells the boundary about itself. The boundary knows no domain: it gives the operation a transaction
// in which a move commits, and takes verdicts about the outside world.
//
// An operation is: what commits with the reservation, local phases (each a commit of its own), and one external phase.
// A second external effect behind one key would need a provider key of its own; see docs/decisions/0003.
import type { Tx } from '../db/store'
import type { State } from './states'

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

/** A record that a statement has just moved, as it is then. */
export interface Moved {
  id: string
  tenantId: string
  endpoint: string
  state: State
  version: number
}

/** What else commits with a move. It runs last, after what the operation writes. */
export type Also = (tx: Tx, moved: Moved) => Promise<void>

/** A final answer, and what the operation books with it. */
export interface Conclusion<Booking = unknown> {
  answer: Answer
  /** For `book`; none where the answer changes nothing of the operation's. */
  booking?: Booking
}

export interface Settlement<Booking = unknown> extends Conclusion<Booking> {
  /** The provider's reference of what was executed or declined; none where nothing was asked of it. */
  effectRef?: string
  /** A refusal: what the key was reserved for never came into being, and the record does not name it. */
  nothingMade?: true
}

/** What a record's effect carries at the provider, to be found again when the record is lost. */
interface SentAs {
  keyDigest: string
  fingerprint: string
}

/** An attempt that begins: with the reservation, or with a later claim. */
export interface Beginning<Body> {
  recordId: string
  tenantId: string
  /** 1 for the first; an accepted request's first attempt is the worker's, and its reservation has 0. */
  number: number
  resource: Resource
  input: Input<Body>
  createdAt: Date
  /** The reservation itself; false for a later claim. */
  first: boolean
}

/** Everything that an attempt knows. `report` is what `begin` found out inside the reservation. */
export interface Attempt<Body, Report> extends Omit<Beginning<Body>, 'first'>, SentAs {
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

export interface LocalPhase<Body, Report, Booking> {
  /** The recovery point: stored when the phase is entered, where a later attempt resumes. */
  name: string
  /** Commits with the next recovery point, or with the answer that it returns. It calls nothing outside. */
  run(tx: Tx, attempt: Attempt<Body, Report>): Promise<Settlement<Booking> | null>
}

interface ExternalPhase<Body, Report, Booking> {
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
  conclude(attempt: Attempt<Body, Report>, executed: Executed): Conclusion<Booking>
  /** Gives back what the attempt holds. Commits with the proof that nothing was executed. */
  release?(tx: Tx, attempt: Attempt<Body, Report>): Promise<void>
}

/** What `book` writes for one record. */
export interface Booked<Booking> {
  recordId: string
  tenantId: string
  booking: Booking
}

// biome-ignore lint/suspicious/noExplicitAny: only the operation itself knows what it books
export interface Operation<Body = unknown, Report = unknown, Booking = any> {
  /** Method and route template: the scope of its keys, with the tenant. */
  endpoint: string
  retentionHours?: number
  /**
   * `begin` and `book` take many attempts at a time: then the reservations that arrive together commit together, and so
   * do the answers. Without it their arrays have one element. Only for what locks no row that two records share.
   */
  batched?: true
  newResource(): Resource
  /** Commits with the reservation, and with each later claim. Returns the reports, in the order of the attempts. */
  begin?(tx: Tx, attempts: readonly Beginning<Body>[]): Promise<readonly Report[]>
  /** What the reservation itself ruled out: stored as the answer, the provider is not asked. */
  refusal?(attempt: Attempt<Body, Report>): Settlement<Booking> | null
  local?: readonly LocalPhase<Body, Report, Booking>[]
  external: ExternalPhase<Body, Report, Booking>
  /** Commits with the answers. Only for records that this transaction has moved. */
  book?(tx: Tx, booked: readonly Booked<Booking>[]): Promise<void>
  /** What `begin` reported, read again to settle a record without a claim. */
  recall?(record: { id: string; tenantId: string; resource: Resource; input: Input<Body> }): Promise<Report>
  /** The keys of these resources have ended, and nothing was executed for them. Commits with that. */
  lapse?(tx: Tx, resourceIds: readonly string[]): Promise<void>
}

/** The same, whichever source says what was executed. */
export const settlementOf = <Body, Report>(
  { external }: Operation<Body, Report>,
  attempt: Attempt<Body, Report>,
  executed: Executed,
): Settlement => ({ ...external.conclude(attempt, executed), effectRef: executed.ref })

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

export type Operations = ReadonlyMap<string, AnyOperation>
