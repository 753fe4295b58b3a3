// The parts of the tests: which files they have and which command runs them. vitest.config.ts makes a project of each.
// The parts of one command run one after the other, in this order: none disturbs the timing of the next.

import { existsSync } from 'node:fs'

export interface Part {
  name: string
  command: 'check' | 'test' | 'proof' | 'pictures'
  what: string
  files: readonly string[]
  without?: readonly string[]
  /** On two cores, as a run showed. */
  minutes: number
  /** Files at a time. Most of them wait more than they compute. */
  workers: number
  /** The files of one worker share its modules, and with them its nodes (test/support/site.ts). */
  shared?: boolean
  /** It runs only when its name is given, because of what it needs or how long it takes; the others' table says so. */
  byNameOnly?: boolean
  /** How long one test or hook may take before it counts as hung; 2 unless said. */
  limitMinutes?: number
  env?: Record<string, string>
  /** What it runs on, of a package that not every machine has. */
  postgres?: { folder: string; package: string }
}

const contract = (...names: string[]) => names.map((name) => `test/contract/${name}.test.ts`)
const scenarios = (...names: string[]) => names.map((name) => `test/scenarios/${name}.test.ts`)
const browser = (...names: string[]) => names.map((name) => `test/browser/${name}.test.ts`)

const NODES = ['test/contract/**', 'test/scenarios/**', 'test/browser/**']
const DATABASE = ['test/**/*.db.test.ts']
/** It copies and restores databases, and waits for clocks. */
const RESTORE = contract('restored-backup')
/** Every answer has to be one that the OpenAPI document has (test/support/documented-answer.ts). */
const DOCUMENTED = { DOCUMENTED_ANSWERS: 'only' }
const CLIENT_CONTRACT = contract('header', 'order-of-checks', 'outcomes', 'prefer', 'refunds', 'replay', 'validation')
const MAIN_WAY = browser('main-way')
const POSTGRES_15 = { folder: '/usr/lib/postgresql/15/bin', package: 'postgresql-15' }

export const PARTS: readonly Part[] = [
  {
    name: 'unit',
    command: 'check',
    what: 'what needs no database',
    files: ['test/**/*.test.ts'],
    without: [...NODES, ...DATABASE],
    minutes: 0.6,
    workers: 2,
  },
  {
    name: 'database',
    command: 'test',
    what: 'statements and use cases',
    files: DATABASE,
    minutes: 2.1,
    workers: 3,
  },
  {
    name: 'contract',
    command: 'test',
    what: 'what clients, operators and scrapers see of a node',
    files: ['test/contract/**/*.test.ts'],
    without: RESTORE,
    minutes: 3.2,
    workers: 3,
    shared: true,
    // A node starts in a second, and in minutes where many others do.
    limitMinutes: 5,
    env: DOCUMENTED,
  },
  {
    name: 'nodes',
    command: 'test',
    what: 'two nodes, start and stop, the main way through the console',
    files: [...scenarios('two-nodes', 'bulk-run', 'start-and-stop'), ...MAIN_WAY],
    minutes: 1.1,
    workers: 3,
    limitMinutes: 5,
  },
  {
    name: 'crash',
    command: 'proof',
    what: 'a node is killed, or something breaks, at every statement boundary',
    files: scenarios('crash/*'),
    minutes: 2.7,
    // Both providers write into the same page.
    workers: process.env.CRASH_MATRIX === 'write' ? 1 : 2,
    limitMinutes: 10,
  },
  {
    name: 'random',
    command: 'proof',
    what: 'random programs of requests, operators and faults',
    files: scenarios('random-programs'),
    minutes: 1.3,
    workers: 1,
    limitMinutes: 10,
  },
  {
    name: 'fuzz',
    command: 'proof',
    what: 'bad input',
    files: scenarios('bad-input'),
    minutes: 0.5,
    workers: 1,
    limitMinutes: 10,
  },
  {
    name: 'faults',
    command: 'proof',
    what: 'network faults, outages, PgBouncer, wrong clocks, a restored backup',
    files: [
      ...scenarios('network-faults', 'database-outage', 'silent-database', 'pgbouncer', 'wrong-clock'),
      ...RESTORE,
    ],
    minutes: 1.4,
    workers: 3,
    limitMinutes: 10,
  },
  {
    name: 'isolation',
    command: 'proof',
    what: 'every call with the keys of another tenant; sample traffic',
    files: scenarios('tenant-isolation', 'traffic'),
    minutes: 0.5,
    workers: 3,
  },
  {
    name: 'several',
    command: 'proof',
    what: 'three nodes behind HAProxy; one is killed, one is stopped',
    files: scenarios('several-nodes'),
    minutes: 0.5,
    workers: 1,
  },
  {
    name: 'clients',
    command: 'proof',
    what: 'HTTP clients with their own retry logic, set up as /docs shows it',
    files: scenarios('clients'),
    minutes: 1.5,
    workers: 1,
    limitMinutes: 10,
  },
  {
    name: 'generators',
    command: 'proof',
    what: 'clients that generators make of the OpenAPI document; needs the npm registry',
    files: scenarios('generators'),
    minutes: 1,
    workers: 1,
    limitMinutes: 10,
  },
  {
    name: 'readers',
    command: 'proof',
    what: 'orders while many read',
    files: scenarios('readers'),
    minutes: 0.5,
    workers: 1,
  },
  {
    name: 'upgrade',
    command: 'proof',
    what: 'a database takes a later release’s migrations under traffic; one is replicated to another server',
    files: scenarios('upgrade', 'logical-replication'),
    minutes: 0.8,
    workers: 2,
    limitMinutes: 10,
  },
  {
    name: 'console',
    command: 'proof',
    what: 'the whole console',
    files: ['test/browser/**/*.test.ts'],
    without: MAIN_WAY,
    minutes: 5.4,
    workers: 3,
  },
  {
    name: 'next',
    command: 'proof',
    what: 'what a client sees, from `next start`',
    files: CLIENT_CONTRACT,
    minutes: 0.4,
    workers: 3,
    shared: true,
    env: { ...DOCUMENTED, TEST_SERVER: 'next' },
  },
  {
    name: 'store',
    command: 'proof',
    what: 'what a client sees, with `FAST_PATH=off`',
    files: CLIENT_CONTRACT,
    minutes: 0.5,
    workers: 3,
    shared: true,
    env: { ...DOCUMENTED, TEST_FAST_PATH: 'off' },
  },
  {
    name: 'postgres-15',
    command: 'proof',
    what: 'what a client sees, on PostgreSQL 15; a database is moved there and back',
    files: [
      ...contract('expiry', 'limits', 'operator-actions', 'outcomes', 'prefer', 'reads', 'refunds', 'replay'),
      ...scenarios('move-database'),
    ],
    minutes: 1.2,
    workers: 3,
    shared: true,
    limitMinutes: 5,
    postgres: POSTGRES_15,
  },
  {
    name: 'clone',
    command: 'proof',
    what: 'start from a clean clone; what `npm run check` refuses',
    files: scenarios('clean-clone', 'gate'),
    minutes: 3.5,
    workers: 2,
    limitMinutes: 10,
  },
  {
    name: 'failover',
    command: 'proof',
    what: 'the primary dies under traffic; needs Debian’s packages (.ci/failover-packages)',
    files: scenarios('failover'),
    minutes: 5,
    workers: 1,
    byNameOnly: true,
    limitMinutes: 10,
  },
  {
    name: 'pictures',
    command: 'pictures',
    what: 'the pictures of the README',
    files: browser('pictures'),
    minutes: 0.5,
    workers: 1,
  },
]

/** Without its package a part is not run, and the plan says so. */
export const isMissing = ({ postgres }: Part): boolean => postgres !== undefined && !existsSync(postgres.folder)

export const partsOf = (command: Part['command']): Part[] => PARTS.filter((part) => part.command === command)
