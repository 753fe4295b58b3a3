// The kinds of test, run one after the other so that none disturbs another's timing: those of single parts; those of
// whole nodes; some of these again on Next's own server; the proof; those that look at nodes in a browser; and the one
// that installs and builds a clean copy with every core there is. `npm test` leaves out the last kind, faults of the
// network, which wait for many time limits; `npm run proof` has them.
import { defineConfig } from 'vitest/config'

const INTEGRATION = ['test/contract/**/*.test.ts', 'test/scenarios/**/*.test.ts']
const STARTUP = ['test/scenarios/startup.test.ts']
const PROOF = ['crash/**', 'random-programs', 'bad-input', 'upgrade', 'upgrade-stops'].map(
  (name) => `test/scenarios/${name}.test.ts`,
)
const FAULTS = ['test/scenarios/network-faults.test.ts']
/** What a client sees: the same from Next's own server. */
const NEXT = ['header', 'order-of-checks', 'outcomes', 'prefer', 'refunds', 'replay', 'validation'].map(
  (name) => `test/contract/${name}.test.ts`,
)
const BROWSER = ['test/browser/**/*.test.ts']
const SECOND = 1_000
const MINUTE = 60 * SECOND
/** A condition that comes true is met at once; on a busy machine "at once" is not a second, which is what Vitest waits. */
const PATIENT = { poll: { timeout: 8 * SECOND } }

export default defineConfig({
  test: {
    globalSetup: 'test/support/postgres.ts',
    // What is broken on purpose need not be read about.
    env: { LOG_LEVEL: 'silent' },
    reporters: ['default', './scripts/test-summary.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          // A build of the benchmark brings the tests of its packages along.
          exclude: [...INTEGRATION, ...BROWSER, '**/.next/**'],
          expect: PATIENT,
          testTimeout: 10 * SECOND,
          hookTimeout: 30 * SECOND,
          // They wait for the database as much as they compute.
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'integration',
          include: INTEGRATION,
          exclude: [...STARTUP, ...PROOF, ...FAULTS],
          expect: PATIENT,
          testTimeout: MINUTE,
          hookTimeout: 2 * MINUTE,
          // A file runs two nodes and their database: more files at once would measure the machine.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'next',
          include: NEXT,
          env: { TEST_SERVER: 'next' },
          expect: PATIENT,
          testTimeout: MINUTE,
          hookTimeout: 2 * MINUTE,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'proof',
          include: PROOF,
          expect: PATIENT,
          testTimeout: 10 * MINUTE,
          hookTimeout: 10 * MINUTE,
          // Three nodes, two databases and what breaks them, in one file.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: 'browser',
          include: BROWSER,
          expect: PATIENT,
          testTimeout: MINUTE,
          hookTimeout: 2 * MINUTE,
          // A node, its database and a browser each.
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: 'startup',
          include: STARTUP,
          expect: PATIENT,
          testTimeout: 10 * MINUTE,
          hookTimeout: 10 * MINUTE,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          name: 'faults',
          include: FAULTS,
          expect: PATIENT,
          testTimeout: 10 * MINUTE,
          hookTimeout: 10 * MINUTE,
          maxWorkers: 1,
          sequence: { groupOrder: 6 },
        },
      },
    ],
  },
})
