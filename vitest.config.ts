import { defineConfig } from 'vitest/config'
import { PARTS } from './test/parts.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

export default defineConfig({
  test: {
    globalSetup: 'test/support/postgres.ts',
    // Tests break things on purpose; their nodes need not log it.
    env: { LOG_LEVEL: 'silent' },
    reporters: ['./scripts/test-reporter.ts'],
    projects: PARTS.map(
      ({ name, files, without = [], workers, shared = false, limitMinutes = 2, env = {}, postgres }, i) => ({
        test: {
          name,
          include: [...files],
          // A build of the benchmark brings the tests of its packages along.
          exclude: [...without, '**/node_modules/**', '**/.next/**'],
          env,
          globalSetup: postgres ? ['test/support/installed-postgres.ts'] : [],
          isolate: !shared,
          maxWorkers: workers,
          sequence: { groupOrder: i + 1 },
          // A condition is asked about again and again, and met at once; on a busy machine that takes longer than the one
          // second that Vitest waits.
          expect: { poll: { timeout: 30 * SECOND } },
          testTimeout: limitMinutes * MINUTE,
          hookTimeout: limitMinutes * MINUTE,
        },
      }),
    ),
  },
})
