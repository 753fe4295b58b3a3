// A program is data: it can be printed, made smaller, and played again. It is several strands that are played side by
// side, each with keys of its own, few enough that its steps meet; what one does to a node, a line or the database is
// bad weather for all.
import fc, { type Arbitrary } from 'fast-check'
import type { Step as Boundary } from '../../../lib/idempotency/boundary'

/** What the provider does, as the sandbox names it: `pm_…` for a charge, `sandbox:…` for a refund. */
const BEHAVIOURS = [
  'ok',
  'declined',
  'slow_200',
  'slow_700',
  'timeout_charged',
  'timeout_lost_once',
  'late_700_once',
  'refused_once',
  'error_once',
  'unreachable',
] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

export interface Program {
  /** Over how many of the fleet's nodes its calls go. */
  nodes: number
  strands: Strand[]
}

export interface Strand {
  /** How long the tenant's keys are kept: too long to see the end, or a moment. */
  retention: 'day' | 'moment'
  keys: { charge: Behaviour; refund: Behaviour }[]
  steps: Step[]
}

/** A request. The same key may be used for an order and for a refund: these are two records. */
export interface Ask {
  for: 'order' | 'refund'
  key: number
  /** Of a refund: the key whose order it is about. */
  of: number
  /** Two that differ: the same key with both is misuse. */
  body: 0 | 1
  node: number
  prefer: 'nothing' | 'respond-async' | 'wait=1' | 'respond-async, wait=1'
}

export type Weather = 'cut' | 'refuse' | 'silence up' | 'silence down' | 'swallow up' | 'swallow down'

export type Step =
  | { do: 'ask'; ask: Ask }
  /** At once, through one gate. */
  | { do: 'together'; asks: Ask[] }
  /** The client is gone before the answer. */
  | { do: 'hang up'; ask: Ask; afterMs: number }
  | { do: 'look up'; for: Ask['for']; key: number; node: number }
  | { do: 'expire'; for: Ask['for']; key: number; node: number }
  | { do: 'reconcile'; for: Ask['for']; key: number; node: number }
  /** An honest operator says what the provider's books say; another one says anything. */
  | {
      do: 'resolve'
      for: Ask['for']
      key: number
      node: number
      as: 'booked' | 'succeeded' | 'declined' | 'not_executed'
    }
  | { do: 'run'; daemon: 'sweeper' | 'reconciler' | 'reaper'; node: number }
  /** The provider reports all that it booked for this strand once more. */
  | { do: 'report again' }
  | { do: 'pause'; ms: number }
  /** The attempt is held between two of its steps, and then its node dies, or it goes on. */
  | { do: 'hold'; ask: Ask; at: Boundary; ms: number; ends: 'kill' | 'release' }
  | { do: 'kill'; node: number }
  | { do: 'start'; node: number }
  | { do: 'restart database' }
  | { do: 'weather'; weather: Weather; node: number; ms: number }

export const MAX_NODES = 3
const MAX_KEYS = 3

const node = fc.nat({ max: MAX_NODES - 1 })
const key = fc.nat({ max: MAX_KEYS - 1 })
const endpoint = fc.oneof(
  { weight: 3, arbitrary: fc.constant('order') },
  { weight: 1, arbitrary: fc.constant('refund') },
)

const ask = fc.record({
  for: endpoint,
  key,
  of: key,
  body: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
  node,
  prefer: fc.oneof(
    { weight: 5, arbitrary: fc.constant('nothing') },
    { weight: 2, arbitrary: fc.constantFrom('respond-async', 'wait=1', 'respond-async, wait=1') },
  ),
}) as Arbitrary<Ask>

const behaviour = fc.oneof(
  { weight: 2, arbitrary: fc.constant('ok') },
  { weight: 5, arbitrary: fc.constantFrom(...BEHAVIOURS) },
) as Arbitrary<Behaviour>

const onKey = { for: endpoint, key, node }
const step = <Do extends Step['do'], Rest extends object>(
  name: Do,
  rest: { [Name in keyof Rest]: Arbitrary<Rest[Name]> },
) => fc.record({ do: fc.constant(name), ...rest }) as unknown as Arbitrary<Step>

/** Between the last look at the clock and the call nothing but death is in the guarantee: no hold there that ends well. */
const HELD_AT = ['reserved', 'claimed', 'looked_up', 'called', 'settled', 'released', 'given_up'] as const

// First what is simplest: that is what a failing program is made smaller to.
const CALM = [
  { weight: 24, arbitrary: step('ask', { ask }) },
  { weight: 10, arbitrary: step('together', { asks: fc.array(ask, { minLength: 2, maxLength: 4 }) }) },
  { weight: 6, arbitrary: step('pause', { ms: fc.constantFrom(300, 1000, 2000) }) },
  { weight: 4, arbitrary: step('look up', onKey) },
  { weight: 6, arbitrary: step('hang up', { ask, afterMs: fc.constantFrom(1, 20, 100) }) },
  { weight: 3, arbitrary: step('expire', onKey) },
  { weight: 3, arbitrary: step('reconcile', onKey) },
  {
    weight: 3,
    arbitrary: step('resolve', { ...onKey, as: fc.constantFrom('booked', 'succeeded', 'declined', 'not_executed') }),
  },
  { weight: 2, arbitrary: step('run', { daemon: fc.constantFrom('sweeper', 'reconciler', 'reaper'), node }) },
  { weight: 2, arbitrary: step('report again', {}) },
  {
    weight: 4,
    arbitrary: step('hold', {
      ask,
      at: fc.constantFrom(...HELD_AT),
      ms: fc.constantFrom(0, 700, 3000),
      ends: fc.constant('release'),
    }),
  },
  {
    weight: 2,
    arbitrary: step('weather', {
      weather: fc.constantFrom('cut', 'refuse', 'silence up', 'silence down', 'swallow up', 'swallow down'),
      node,
      ms: fc.constantFrom(100, 600),
    }),
  },
]

/** A node takes seconds to come back, so these are in few strands. */
const ROUGH = [
  ...CALM,
  {
    weight: 12,
    arbitrary: step('hold', {
      ask,
      at: fc.constantFrom(...HELD_AT, 'reserving', 'calling'),
      ms: fc.constant(0),
      ends: fc.constant('kill'),
    }),
  },
  { weight: 6, arbitrary: step('kill', { node }) },
  { weight: 6, arbitrary: step('start', { node }) },
  { weight: 6, arbitrary: step('restart database', {}) },
]

const strandOf = (steps: { weight: number; arbitrary: Arbitrary<Step> }[]) =>
  fc.record({
    retention: fc.oneof({ weight: 5, arbitrary: fc.constant('day') }, { weight: 1, arbitrary: fc.constant('moment') }),
    keys: fc.array(fc.record({ charge: behaviour, refund: behaviour }), {
      minLength: 1,
      maxLength: MAX_KEYS,
      size: 'max',
    }),
    steps: fc.array(fc.oneof(...steps), { minLength: 1, maxLength: 7, size: 'max' }),
  }) as Arbitrary<Strand>

const strand = fc.oneof({ weight: 24, arbitrary: strandOf(CALM) }, { weight: 1, arbitrary: strandOf(ROUGH) })

export const anyProgram: Arbitrary<Program> = fc.record({
  nodes: fc.integer({ min: 1, max: MAX_NODES }),
  strands: fc.array(strand, { minLength: 1, maxLength: 8, size: 'max' }),
})

/** One step a line. */
export function print({ nodes, strands }: Program): string {
  const lines = strands.flatMap(({ retention, keys, steps }) => [
    `  { retention: '${retention}', keys: ${JSON.stringify(keys)}, steps: [`,
    ...steps.map((step) => `    ${JSON.stringify(step)},`),
    '  ] },',
  ])
  return [`{ nodes: ${nodes}, strands: [`, ...lines, '] }'].join('\n')
}
