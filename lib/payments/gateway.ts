// The port to a payment provider. An adapter sorts every ending of a call into what it proves: nothing here throws
// for something that a network or a provider can do.

export type EffectKind = 'charge' | 'refund'

export interface EffectRequest {
  kind: EffectKind
  /** Stable for a record, the same on every attempt: the provider's own idempotency key where it has one. */
  providerKey: string
  /** Kept with the object: by these it is found again when the record is lost. */
  keyDigest: string
  fingerprint: string
  orderId: string
  customerId: string
  amountCents: number
  currency: string
  /** For a charge: what to charge. */
  paymentMethod: string
  /** For a refund: the charge that it gives back, and why. */
  chargeRef?: string
  reason?: string | null
}

/** What the provider's own object says was executed. It may not be what was asked for. */
export interface Effected {
  providerRef: string
  effect: EffectKind
  amountCents: number
  currency: string
  /** The order that it names, where it names one. */
  orderId: string | null
}

/** How a call ended, by what that proves. */
export type CallOutcome =
  | ({ kind: 'succeeded' } & Effected)
  | { kind: 'declined'; providerRef: string }
  /** Proven: nothing was sent, so nothing was executed. */
  | { kind: 'not_executed'; code: string }
  /** May have executed: no answer in time, or one that does not say. */
  | { kind: 'unclear'; code: string }

/** What the provider says when it is asked for an effect that may have happened. */
export type LookUpOutcome =
  | ({ kind: 'succeeded'; createdAt?: Date } & Effected)
  | { kind: 'declined'; providerRef: string }
  | { kind: 'not_found' }
  /** The provider has it and has not decided yet. */
  | { kind: 'pending'; providerRef: string }
  | { kind: 'unreachable'; code: string }
  /** Nothing in the part of the list that there was time for. A look-up with this progress goes on from there. */
  | { kind: 'unfinished'; progress: string }

export interface LookUpRequest {
  kind: EffectKind
  providerKey: string
  /** When the record was reserved: nothing of it can be older. */
  reservedAt: Date
  /** Nothing of it can be younger. */
  until: Date
  /** Of an unfinished look-up of the same effect; it counts only if `reservedAt` and `until` are as they were. */
  progress?: string | null
  /** For a refund: the charge that it gives back. */
  chargeRef?: string
  /** The order's payment method or the refund's reason: the sandbox's behaviour hangs on it. */
  paymentMethod: string
  reason?: string | null
}

/** One object of the provider's own list, for the comparison with our ledger. */
export interface ProviderEntry {
  ref: string
  /** Ours, where it carries one: anything else was made by somebody else. */
  providerKey: string | null
  kind: EffectKind
  status: 'succeeded' | 'failed' | 'pending'
  amountCents: number
  currency: string
  orderId: string | null
  /** What it was sent with, where it carries that. */
  keyDigest?: string | null
  fingerprint?: string | null
  createdAt: Date
}

/** Creation times of the provider's objects: `from` belongs to it, `to` does not. */
export interface CreatedWindow {
  from: Date
  to: Date
}

export interface CreatedPage {
  items: ProviderEntry[]
  /** Where the next page begins, for this window only; null after the last page. */
  next: string | null
}

/** What a webhook says of an effect, sorted like the rest. */
export interface ProviderEvent {
  /** The provider's id of the event: a repeated one does nothing. */
  id: string
  providerKey: string
  outcome: { kind: 'succeeded' | 'declined' } & Effected
}

export interface Gateway {
  readonly name: 'sandbox' | 'stripe'
  /** Ends within `timeLimitMs`, whatever the provider does. */
  readonly timeLimitMs: number
  execute(request: EffectRequest): Promise<CallOutcome>
  lookUp(request: LookUpRequest): Promise<LookUpOutcome>
  /** The object with this reference, whatever key it carries. Null where the provider has none. */
  findByRef(kind: EffectKind, ref: string): Promise<ProviderEntry | null | 'unreachable'>
  /**
   * One page of everything created in the window; null begins with the first. A cursor can be stored, and another process
   * can go on from it. Throws where the provider can't be asked: a list with holes proves nothing.
   */
  listCreated(window: CreatedWindow, cursor: string | null): Promise<CreatedPage>
}

/** Everything created in the window, page by page. */
export async function* everythingCreated(
  gateway: Pick<Gateway, 'listCreated'>,
  window: CreatedWindow,
): AsyncIterable<ProviderEntry> {
  let cursor: string | null = null
  do {
    const page: CreatedPage = await gateway.listCreated(window, cursor)
    yield* page.items
    cursor = page.next
  } while (cursor !== null)
}
