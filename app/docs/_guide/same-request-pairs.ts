// Bodies of a refund in pairs, and whether the two count as one request. A test fingerprints each of them.

export interface Pair {
  name: string
  one: string
  other: string
  same: boolean
}

export const PAIRS: readonly Pair[] = [
  {
    name: 'Members in another order, other white space',
    one: '{ "amountCents": 500, "reason": "broken" }',
    other: '{"reason":"broken","amountCents":500}',
    same: true,
  },
  { name: 'A number spelled otherwise', one: '{ "amountCents": 500 }', other: '{ "amountCents": 5.0e2 }', same: true },
  {
    name: 'A character written as an escape',
    one: '{ "reason": "broken" }',
    other: '{ "reason": "\\u0062roken" }',
    same: true,
  },
  { name: 'Another value', one: '{ "amountCents": 500 }', other: '{ "amountCents": 501 }', same: false },
  { name: 'Another case of letters', one: '{ "reason": "broken" }', other: '{ "reason": "Broken" }', same: false },
  {
    name: 'A default that is written out: 2500 is all that is left',
    one: '{}',
    other: '{ "amountCents": 2500 }',
    same: false,
  },
  {
    name: 'An empty member in place of none',
    one: '{ "amountCents": 500 }',
    other: '{ "amountCents": 500, "reason": "" }',
    same: false,
  },
]
