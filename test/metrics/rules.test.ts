import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseYaml } from '@redocly/openapi-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Db } from '../../lib/db/store'
import { collectProcessMetrics, openExposition } from '../../lib/metrics/exposition'
import { openMetrics } from '../../lib/metrics/metrics'
import { expectPromtool } from '../support/promtool'
import { parseText } from './prometheus-text'

const RULES = path.join(import.meta.dirname, '../../ops/prometheus/onceover.rules.yml')
const CASES = path.join(import.meta.dirname, 'alert-cases.yml')

interface Rule {
  alert?: string
  record?: string
  expr: string
  for?: string
  labels?: { severity?: string }
  annotations?: { summary?: string; runbook?: string }
}
interface AlertTest {
  alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[]
}

const read = <T>(file: string): T => parseYaml(readFileSync(file, 'utf8')) as T
const rules = read<{ groups: { name: string; rules: Rule[] }[] }>(RULES).groups.flatMap((g) => g.rules)
const alerts = rules.filter((rule) => rule.alert !== undefined)
const tests = read<{ rule_files: string[]; tests: AlertTest[] }>(CASES)

/** Words of PromQL that may stand in these rules. Anything else in an expression is a metric. */
const PROMQL = new Set('sum max by and or unless rate increase absent offset'.split(' '))

function metricsIn(expr: string): string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\bby\s*\([^)]*\)/g, '')
    .replace(/\boffset\s+\w+/g, '')
  return (bare.match(/[a-zA-Z_:][a-zA-Z0-9_:]*/g) ?? []).filter((word) => !PROMQL.has(word))
}

const recorded = rules.flatMap((rule) => (rule.record ? [rule.record] : []))
let exported: string[]

beforeAll(async () => {
  const rows = [
    { pending: 0, in_progress: 0, completed: 0, failed_retryable: 0, unknown: 0, expired: 0, dead_letters: 0 },
  ]
  const query = async <Row>() => rows.map((row) => ({ ...row, oldest_unknown_seconds: 0 })) as Row[]
  const store: Db = { query, transaction: (work) => work({ query, client: null as never }) }
  const { registry } = openMetrics(store)
  collectProcessMetrics(registry)
  const families = parseText(await openExposition(registry, store).text())
  exported = [...families.values()].flatMap(({ name, type }) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  )
})

describe('the alert rules', () => {
  it('use only metrics that a node exports, or that they record themselves', () => {
    for (const { expr, alert, record } of rules) {
      const used = metricsIn(expr)
      expect(used.length, alert ?? record).toBeGreaterThan(0)
      for (const metric of used) expect([...exported, ...recorded], `${alert ?? record}: ${metric}`).toContain(metric)
    }
  })

  it('would fail the check of exported metrics with a metric that no node exports', () => {
    expect(metricsIn('sum by (tenant) (rate(api_idempotency_typo_total{tenant="a"}[5m] offset 1h)) > 5')).toEqual([
      'api_idempotency_typo_total',
    ])
    expect(exported).not.toContain('api_idempotency_typo_total')
  })

  it('never sum a gauge, which every node reports for the same store', () => {
    for (const { expr } of rules)
      expect(expr).not.toMatch(/sum[^(]*\([^)]*api_idempotency_(records|oldest_unknown_seconds|dead_letters)/)
  })

  it('each have a severity, a summary, a runbook and a duration', () => {
    for (const { alert, labels, annotations, for: lasting } of alerts) {
      expect(['warning', 'critical'], alert).toContain(labels?.severity)
      expect(annotations?.summary, alert).toMatch(/\S.{10}/)
      expect(annotations?.runbook, alert).toMatch(/\S.{40}/)
      expect(lasting, alert).toMatch(/^\d+m$/)
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  })

  it('cover dead letters, unknown outcomes, zombie keys, key misuse, store errors and new keys', () => {
    const watched = new Set(
      alerts
        .flatMap(({ expr }) => [expr, ...rules.map((rule) => (expr.includes(rule.record ?? '\0') ? rule.expr : ''))])
        .flatMap(metricsIn),
    )
    for (const metric of [
      'dead_letters',
      'oldest_unknown_seconds',
      'zombie_key_total',
      'reserve_key_misuse_total',
      'store_error_total',
      'reserve_created_total',
    ])
      expect([...watched]).toContain(`api_idempotency_${metric}`)
  })

  it('each have a case in which they fire and one in which they do not', () => {
    expect(tests.rule_files.map((file) => path.resolve(path.dirname(CASES), file))).toEqual([RULES])
    const cases = tests.tests.flatMap((test) => test.alert_rule_test ?? [])
    for (const { alert } of alerts) {
      const own = cases.filter(({ alertname }) => alertname === alert)
      expect(
        own.some(({ exp_alerts }) => exp_alerts.length > 0),
        `${alert} fires`,
      ).toBe(true)
      expect(
        own.some(({ exp_alerts }) => exp_alerts.length === 0),
        `${alert} is silent`,
      ).toBe(true)
    }
    expect(alerts.map(({ alert }) => alert)).toEqual(expect.arrayContaining(cases.map(({ alertname }) => alertname)))
  })

  // Prometheus refuses to start with `rule_files: [ops/**.yml]` where one of the files holds anything but rules.
  it('are all that a glob over the YAML files below ops/ finds', () => {
    const below = readdirSync(path.join(RULES, '../..'), { recursive: true, encoding: 'utf8' })
    const files = below.filter((name) => /\.ya?ml$/.test(name)).map((name) => path.join(RULES, '../..', name))
    expect(files).toContain(RULES)
    for (const file of files) expect(Object.keys(read<object>(file)), file).toEqual(['groups'])
  })

  // Without promtool, the tests above are what holds: the rules' shape, their metrics, and that each has its cases.
  it('pass promtool and their own test cases', { timeout: 60_000 }, (context) => {
    expectPromtool(context, ['check', 'rules', RULES])
    expectPromtool(context, ['test', 'rules', CASES])
  })
})
