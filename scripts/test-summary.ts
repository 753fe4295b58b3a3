// The run's last word, for people and scripts alike: "N passed, N failed" on a line of its own. A file that could not
// be loaded and an error outside of any test count as failures, so "0 failed" is never said of a run that failed.
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export default class TestSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    let passed = 0
    let failed = errors.length
    for (const module of modules) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        if (state === 'failed') failed += 1
      }
    }
    console.log(`${passed} passed, ${failed} failed`)
  }
}
