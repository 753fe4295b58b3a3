// What sample traffic is made of: every kind of key that an operator will ever meet, in a mix that looks like a day of
// a real service. Pure: who sends it, and how fast, is another's business.

export interface Step {
  kind: Kind
  /** The body that is sent. */
  body: OrderBody
  next?: Next
  /** Accepted and worked off later. */
  respondAsync?: true
}

/** What happens to the key after the first request. */
type Next =
  | { do: 'retry'; times: number }
  /** At the same moment as the first one. */
  | { do: 'duplicate'; times: number }
  /** The same key for another request. */
  | { do: 'reuse' }
  | { do: 'refund'; amountCents: number; reason?: string }

export interface OrderBody {
  customerId: string
  currency: string
  items: { sku: string; quantity: number; unitPriceCents: number }[]
  paymentMethod: string
}

interface Share {
  words: string
  /** Of one portion. */
  steps: number
  paymentMethod: string
  next?: (i: number) => Next | undefined
  respondAsync?: true
}

/** So that some come to their end at once, and some wait for somebody. */
const everySecondRetried = (i: number): Next | undefined => (i % 2 ? { do: 'retry', times: 1 } : undefined)

export const SHARES = {
  works: { words: 'Orders that just work', steps: 180, paymentMethod: 'pm_ok' },
  retried: {
    words: 'Retries of the same request',
    steps: 30,
    paymentMethod: 'pm_ok',
    next: (i) => ({ do: 'retry', times: 1 + (i % 3) }),
  },
  doubled: {
    words: 'Duplicates at the same moment',
    steps: 8,
    paymentMethod: 'pm_slow_400',
    next: () => ({ do: 'duplicate', times: 2 }),
  },
  reused: { words: 'One key, two different requests', steps: 6, paymentMethod: 'pm_ok', next: () => ({ do: 'reuse' }) },
  refunded: {
    words: 'Refunds',
    steps: 12,
    paymentMethod: 'pm_ok',
    next: (i) => ({
      do: 'refund',
      amountCents: 100 + i,
      ...(i % 6 === 5 ? { reason: 'sandbox:timeout_charged' } : {}),
    }),
  },
  accepted: { words: 'Asynchronous orders', steps: 10, paymentMethod: 'pm_slow_200', respondAsync: true },
  declined: { words: 'Declined cards', steps: 12, paymentMethod: 'pm_declined' },
  refused: {
    words: 'Provider refuses the connection',
    steps: 8,
    paymentMethod: 'pm_refused_once',
    next: everySecondRetried,
  },
  timed_out: {
    words: 'Timeouts: charged, and the answer lost',
    steps: 8,
    paymentMethod: 'pm_timeout_charged',
    next: everySecondRetried,
  },
  lost: { words: 'Timeouts: never arrived', steps: 6, paymentMethod: 'pm_timeout_lost_once' },
  failed: { words: 'Provider answers 500', steps: 4, paymentMethod: 'pm_error_once' },
  unreachable: { words: 'Provider can’t be reached at all', steps: 4, paymentMethod: 'pm_unreachable' },
} as const satisfies Record<string, Share>

export type Kind = keyof typeof SHARES
export const KINDS = Object.keys(SHARES) as readonly Kind[]

/** Requests that a step sends at most. */
export function requestsOf({ next }: Pick<Step, 'next'>): number {
  if (!next) return 1
  return 1 + (next.do === 'retry' || next.do === 'duplicate' ? next.times : 1)
}

/** One portion, in an order in which no kind comes in a row. */
export function samplePlan(): Step[] {
  const placed = KINDS.flatMap((kind) => {
    const share: Share = SHARES[kind]
    return Array.from({ length: share.steps }, (_, i) => ({
      // spread over the whole portion, each kind from its own start
      at: (i + (KINDS.indexOf(kind) + 1) / (KINDS.length + 1)) / share.steps,
      step: stepOf(kind, share, i),
    }))
  })
  return placed.sort((a, b) => a.at - b.at).map(({ step }) => step)
}

const CUSTOMERS = ['cus_ada', 'cus_grace', 'cus_edsger', 'cus_barbara', 'cus_leslie', 'cus_radia']

function stepOf(kind: Kind, share: Share, i: number): Step {
  const next = share.next?.(i)
  return {
    kind,
    body: {
      customerId: CUSTOMERS[i % CUSTOMERS.length]!,
      currency: i % 7 === 6 ? 'EUR' : 'USD',
      items: [{ sku: `SKU-${1 + (i % 40)}`, quantity: 1 + (i % 3), unitPriceCents: 500 + ((i * 379) % 9500) }],
      paymentMethod: share.paymentMethod,
    },
    ...(next ? { next } : {}),
    ...(share.respondAsync ? { respondAsync: true } : {}),
  }
}

export const planned = (plan: readonly Step[]): { words: string; requests: number }[] =>
  KINDS.map((kind) => ({
    words: SHARES[kind].words,
    requests: plan.filter((step) => step.kind === kind).reduce((sum, step) => sum + requestsOf(step), 0),
  }))
