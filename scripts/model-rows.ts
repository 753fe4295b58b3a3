// What is asked of docs/model/once.pml: each property in each world in which it has to hold, and each rule of the code
// switched off in a world in which a property then has to fail. A model that can't fail proves nothing.

export interface Row {
  what: string
  property: number
  wanted: 'holds' | 'fails'
  /** Other than the model's own defaults. */
  world?: Readonly<Record<string, number>>
  /** The rule that is switched off. */
  without?: string
  /** Too large for every day. */
  full?: true
}

const UNKEYED = { KEYED: 0 }
const KEYED = { KEYED: 1 }
const UNBOUNDED = { BOUNDED: 0 }
const TWO_ATTEMPTS = { MAXATT: 2 }
const NO_PEOPLE = { RECONS: 1, OPER: 0 }
const DELETED = { EXPIRE: 2 }
const RESTORED = { RESTORE: 1 }

const HOLDS: Omit<Row, 'wanted'>[] = [
  { what: 'safety, provider ignores keys', property: 0, world: UNKEYED },
  { what: 'safety, provider honours keys', property: 0, world: KEYED },
  { what: 'safety, provider runs again after a decline', property: 0, world: { KEYED: 2 } },
  { what: 'safety, local phase before the call', property: 0, world: { LOCAL: 1 } },
  { what: 'safety, undecided payments', property: 0, world: { PEND: 1 } },
  { what: 'safety, look-ups miss declines', property: 0, world: { BLIND: 1, ...TWO_ATTEMPTS } },
  { what: 'safety, look-ups miss declines', property: 0, world: { BLIND: 1, RECONS: 1 } },
  { what: 'safety, tombstone deleted, key new', property: 0, world: { ...DELETED, ...TWO_ATTEMPTS } },
  { what: 'safety, tombstone deleted, key new', property: 0, world: { ...DELETED, RECONS: 1 } },
  {
    what: 'safety, unbounded pause, provider honours keys',
    property: 0,
    world: { ...UNBOUNDED, ...KEYED, ...TWO_ATTEMPTS },
  },
  {
    what: 'one charge, operator wrong, look-ups fail',
    property: 1,
    world: { WRONGOP: 1, UNREACH: 1, ...TWO_ATTEMPTS },
  },
  { what: 'safety, look-ups in slices', property: 0, world: { SLICES: 1, RECONS: 1 } },
  { what: 'safety, look-ups in slices', property: 0, world: { SLICES: 1, ...TWO_ATTEMPTS } },
  { what: 'failed_retryable is honest, slices', property: 7, world: { SLICES: 1, RECONS: 1 } },
  { what: 'one charge, operator wrong, slices', property: 1, world: { SLICES: 1, WRONGOP: 1, ...TWO_ATTEMPTS } },
  { what: 'safety, other money charged', property: 0, world: { MONEY: 1, RECONS: 1 } },
  { what: 'safety, other money charged', property: 0, world: { MONEY: 1, ...TWO_ATTEMPTS } },
  { what: 'failed_retryable is honest, other money charged', property: 7, world: { MONEY: 1, RECONS: 1 } },
  {
    what: 'nothing against other money, unbounded',
    property: 8,
    world: { MONEY: 1, ...UNBOUNDED, ...TWO_ATTEMPTS },
  },
  { what: 'safety, record lost by a restore', property: 0, world: { ...RESTORED, ...TWO_ATTEMPTS } },
  { what: 'safety, record lost by a restore', property: 0, world: { ...RESTORED, RECONS: 1 } },
  {
    what: 'safety, record lost, other money charged',
    property: 0,
    world: { ...RESTORED, MONEY: 1, ...TWO_ATTEMPTS },
  },
  {
    what: 'safety, record lost, undecided payments',
    property: 0,
    world: { ...RESTORED, PEND: 1, ...TWO_ATTEMPTS },
  },
  {
    what: 'failed_retryable is honest, record lost',
    property: 7,
    world: { ...RESTORED, PEND: 1, ...TWO_ATTEMPTS },
  },
  { what: 'failed_retryable is honest', property: 7 },
  { what: 'failed_retryable is honest, local phase', property: 7, world: { LOCAL: 1 } },
  { what: 'failed_retryable is honest, undecided payments', property: 7, world: { PEND: 1 } },
  { what: 'nothing against what was told, unbounded', property: 8, world: { ...UNBOUNDED, ...NO_PEOPLE } },
  { what: 'nothing against what was told, unbounded', property: 8, world: { ...UNBOUNDED, ...TWO_ATTEMPTS } },
  { what: 'one request, one attempt', property: 10, world: { ...DELETED, ...NO_PEOPLE } },
  { what: 'nothing stays stuck', property: 5, world: { KMAX: 1, ...TWO_ATTEMPTS, ...NO_PEOPLE } },
  {
    what: 'nothing stays stuck, record lost by a restore',
    property: 5,
    world: { ...RESTORED, KMAX: 1, ...TWO_ATTEMPTS, ...NO_PEOPLE },
  },
  {
    what: 'nothing stays stuck, local phase',
    property: 5,
    world: { KMAX: 1, LOCAL: 1, ...TWO_ATTEMPTS, ...NO_PEOPLE },
  },
  {
    what: 'nothing stays stuck, look-ups in slices',
    property: 5,
    world: { KMAX: 1, SLICES: 1, ...TWO_ATTEMPTS, ...NO_PEOPLE },
  },

  { what: 'safety, tombstone deleted, key new', property: 0, world: DELETED, full: true },
  { what: 'safety, no symmetry reduction', property: 0, world: { SYM: 0, ...TWO_ATTEMPTS }, full: true },
  {
    what: 'safety, unbounded, keys, three attempts',
    property: 0,
    world: { ...UNBOUNDED, ...KEYED, RECONS: 1 },
    full: true,
  },
  { what: 'one charge, operator wrong, look-ups fail', property: 1, world: { WRONGOP: 1, UNREACH: 1 }, full: true },
  { what: 'one request, one attempt', property: 10, world: { ...DELETED, ...TWO_ATTEMPTS }, full: true },
]

const FAILS: Omit<Row, 'wanted'>[] = [
  { what: 'the last attempt can end in a 201', property: 9 },
  { what: 'THE ASSUMPTION: unbounded pause, keys ignored', property: 1, world: { ...UNBOUNDED, ...UNKEYED } },
  { what: 'one charge', property: 1, without: 'R_CLAIM' },
  { what: 'a fenced owner changes nothing', property: 4, without: 'R_ATTEMPT' },
  {
    what: 'a fenced owner changes nothing',
    property: 4,
    without: 'R_RECORD',
    world: { ...DELETED, ...TWO_ATTEMPTS, ...NO_PEOPLE },
  },
  { what: 'one charge', property: 1, without: 'R_POINT' },
  { what: 'one charge', property: 1, without: 'R_OVER' },
  { what: 'one charge', property: 1, without: 'R_LEASE' },
  { what: 'one charge, operator wrong', property: 1, without: 'R_LOOK', world: { WRONGOP: 1 } },
  { what: 'nothing against what was told', property: 8, without: 'R_STILL', world: UNBOUNDED },
  { what: 'one charge', property: 1, without: 'R_UNSENT' },
  { what: 'one final answer, look-ups miss declines', property: 3, without: 'R_FENCED', world: { BLIND: 1 } },
  { what: 'one request, one attempt', property: 10, without: 'R_ONCE', world: { ...DELETED, ...NO_PEOPLE } },
  { what: 'one charge', property: 1, without: 'R_GUARD' },
  { what: 'one charge', property: 1, without: 'R_EARLY' },
  { what: 'failed_retryable is honest', property: 7, without: 'R_START' },
  { what: 'one charge', property: 1, without: 'R_WINDOW' },
  { what: 'nothing stays stuck', property: 5, without: 'R_COUNT', world: { KMAX: 1, ...TWO_ATTEMPTS, ...NO_PEOPLE } },
  {
    what: 'nothing stays stuck, look-ups in slices',
    property: 5,
    without: 'R_RESUME',
    world: { SLICES: 1, ...TWO_ATTEMPTS, ...NO_PEOPLE },
  },
  { what: 'failed_retryable is honest, slices', property: 7, without: 'R_SLICE', world: { SLICES: 1, RECONS: 1 } },
  { what: 'failed_retryable is honest, slices', property: 7, without: 'R_BOUNDS', world: { SLICES: 1, RECONS: 1 } },
  { what: 'one charge, undecided payments', property: 1, without: 'R_PENDING', world: { PEND: 1 } },
  { what: 'true answers, look-ups miss declines', property: 2, without: 'R_DECLINED', world: { BLIND: 1 } },
  { what: 'true answers, look-ups miss declines', property: 2, without: 'R_REPORTED', world: { BLIND: 1 } },
  { what: 'one charge', property: 1, without: 'R_OPWAIT' },
  { what: 'one charge', property: 1, without: 'R_OPSAW' },
  { what: 'other money settles nothing', property: 11, without: 'R_MONEY', world: { MONEY: 1 } },
  {
    what: 'nothing against other money',
    property: 8,
    without: 'R_OTHERKEPT',
    world: { MONEY: 1, ...UNBOUNDED, ...TWO_ATTEMPTS },
  },
  { what: 'nothing against what was told', property: 8, without: 'R_KEEP', world: UNBOUNDED },
  { what: 'nothing against what was told', property: 8, without: 'R_TOLDCLAIM', world: UNBOUNDED },
  { what: 'nothing against what was told', property: 8, without: 'R_TOLDFREE', world: UNBOUNDED },
  { what: 'nothing against what was told', property: 8, without: 'R_TOLDDECL', world: UNBOUNDED },
  { what: 'nothing against what was told', property: 8, without: 'R_TOLDREAP', world: UNBOUNDED },
  { what: 'failed_retryable is honest', property: 7, without: 'R_REAP' },
  { what: 'only the moves of the table', property: 6, without: 'R_REAP' },
  { what: 'true answers', property: 2, without: 'R_ABANDON' },
  { what: 'reruns end with the retention', property: 6, without: 'R_RERUN' },
  { what: 'an operator’s word is good for one attempt', property: 6, without: 'R_AGAIN' },
  {
    what: 'one charge, record lost by a restore',
    property: 1,
    without: 'R_FENCE',
    world: { ...RESTORED, ...KEYED, ...TWO_ATTEMPTS },
  },
  {
    what: 'one charge, record lost by a restore',
    property: 1,
    without: 'R_LISTED',
    world: { ...RESTORED, ...TWO_ATTEMPTS },
  },
]

export const ROWS: readonly Row[] = [
  ...HOLDS.map((row) => ({ ...row, wanted: 'holds' as const })),
  ...FAILS.map((row) => ({ ...row, wanted: 'fails' as const })),
]
