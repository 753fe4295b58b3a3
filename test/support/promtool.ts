// Prometheus' own judgement of rules and metrics. Without promtool a test is skipped, which the report says by name.
import { spawnSync } from 'node:child_process'
import { expect, type TestContext } from 'vitest'

const MISSING = 'promtool is not installed (Debian: apt-get install prometheus)'

export function expectPromtool(
  { skip }: Pick<TestContext, 'skip'>,
  args: readonly string[],
  options: { input?: string } = {},
): void {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { ...options, encoding: 'utf8' })
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') skip(MISSING)
  expect(status, `${stdout}${stderr}`).toBe(0)
}
