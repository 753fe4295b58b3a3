// One line for each finished file with how far the run is, then the slowest files, each skipped test with its reason, and
// last "N passed, N failed" on a line of its own, for people and scripts alike. A file that could not be loaded, a hook that failed, an interrupted run
// and an error outside of any test count as failures, so "0 failed" is never printed for a run that failed.
import type { SerializedError } from 'vitest'
import { DefaultReporter, type TestModule, type TestRunEndReason, type TestSpecification } from 'vitest/node'

const SLOWEST = 10

export default class TestReporter extends DefaultReporter {
  #files = 0
  #done = 0
  #begunAt = 0

  constructor() {
    super({ summary: false })
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications)
    this.#files = specifications.length
    this.#begunAt = performance.now()
  }

  protected override printTestModule(module: TestModule): void {
    this.#done += 1
    const progress = `${String(this.#done).padStart(String(this.#files).length)}/${this.#files}`
    const at = clock(performance.now() - this.#begunAt)
    const mark = module.ok() ? '✓' : '✗'
    this.log(`${progress} ${at} ${mark} ${nameOf(module)} ${seconds(durationOf(module))}`)
    if (!module.ok()) super.printTestModule(module)
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, errors, reason)
    const slowest = [...modules].sort((a, b) => durationOf(b) - durationOf(a)).slice(0, SLOWEST)
    this.log('The slowest files:')
    for (const module of slowest) this.log(`  ${seconds(durationOf(module)).padStart(8)}  ${nameOf(module)}`)
    for (const module of modules)
      for (const test of module.children.allTests('skipped')) {
        const { note = 'no reason given' } = test.result() as { note?: string }
        this.log(`Skipped: ${nameOf(module)} > ${test.fullName}: ${note}`)
      }
    const { passed, failed } = countOf(modules, errors, reason)
    this.log(`\n${passed} passed, ${failed} failed`)
  }
}

function countOf(
  modules: readonly TestModule[],
  errors: readonly SerializedError[],
  reason: TestRunEndReason,
): { passed: number; failed: number } {
  let passed = 0
  let failed = errors.length
  for (const module of modules) {
    failed += module.errors().length
    for (const suite of module.children.allSuites()) failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') passed += 1
      if (state === 'failed') failed += 1
    }
  }
  // A run that was interrupted or found no test has failed, too.
  if (reason !== 'passed') failed ||= 1
  return { passed, failed }
}

const nameOf = (module: TestModule): string => `${module.project.name} ${module.relativeModuleId}`

function durationOf(module: TestModule): number {
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  return collectDuration + setupDuration + duration
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

function clock(ms: number): string {
  const whole = Math.floor(ms / 1000)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}
