// All rows of the table, in its order. Those about ten million records have a run of their own (scale.ts): filling the
// tables takes longer than all of these together.

import { latency } from './latency'
import { memory } from './memory'
import type { Trial } from './rounds'
import { type Row, rateRow } from './row'

const fresh = (contender: Trial['contender']): Trial => ({ contender, kind: 'fresh' })
const replay = (contender: Trial['contender']): Trial => ({ contender, kind: 'replay' })

const FRESH = 'a fresh order, fully durable'

export const ROWS: Row[] = [
  rateRow({
    name: 'fresh',
    what: FRESH,
    against: 'the lean unguarded order (three commits into three plain tables), plain `node:http` and `pg`',
    reach: { atLeast: 0.8 },
    of: fresh('ours'),
    by: fresh('unguarded'),
  }),
  rateRow({
    name: 'fresh-redis',
    what: FRESH,
    against: 'node-idempotency + Redis around that order',
    reach: { atLeast: 1 },
    of: fresh('ours'),
    by: fresh('nodeIdempotency'),
  }),
  rateRow({
    name: 'fresh-redis',
    what: FRESH,
    against: 'Powertools + Redis around that order',
    reach: { atLeast: 1 },
    of: fresh('ours'),
    by: fresh('powertools'),
  }),
  rateRow({
    name: 'host',
    what: 'a replay by `npm start`',
    against: 'a constant answer on that same host',
    reach: { atLeast: 0.9 },
    of: replay('ours'),
    by: replay('constantOnOurHost'),
  }),
  rateRow({
    name: 'host',
    what: 'a fresh order by `npm start`',
    against: 'the lean unguarded order on that same host',
    reach: { atLeast: 0.8 },
    of: fresh('ours'),
    by: fresh('unguardedOnOurHost'),
  }),
  rateRow({
    name: 'next',
    what: 'a replay by `next start`',
    against: 'a constant answer on that same host',
    reach: { atLeast: 0.9 },
    of: replay('oursOnNext'),
    by: replay('constantOnNext'),
  }),
  rateRow({
    name: 'next',
    what: 'a fresh order by `next start`',
    against: 'the lean unguarded order on that same host',
    reach: { atLeast: 0.8 },
    of: fresh('oursOnNext'),
    by: fresh('unguardedOnNext'),
  }),
  rateRow({
    name: 'replay',
    what: 'a replay by `npm start`',
    against: 'a constant answer from plain `node:http`',
    reach: { atLeast: 0.8 },
    of: replay('ours'),
    by: replay('constant'),
  }),
  rateRow({
    name: 'replay-redis',
    what: 'a replay by `npm start`',
    against: "node-idempotency's from Redis",
    reach: { atLeast: 1 },
    of: replay('ours'),
    by: replay('nodeIdempotency'),
  }),
  latency,
  memory,
]
