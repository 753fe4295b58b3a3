// A run in numbers: a line while it goes on, a table when it is over, and whether anything in it must not be.
import { FAULT_KINDS, type Faults } from './faults'
import type { Gauge } from './gauges'

export interface Findings {
  seed: number
  seconds: number
  rate: number
  asked: number
  shed: number
  answered: number
  keys: number
  longestMs: number
  quietMs: readonly number[]
  faults: Faults['faults']
  irreparable: readonly string[]
  statuses: Readonly<Record<string, number>>
  duplicates: number
  losses: number
  contradictions: number
  discrepancies: number
  stuck: number
  /** Sentences on the first of what went wrong. */
  wrong: readonly string[]
  memory: readonly Gauge[]
  connections: Gauge
}

export function percentile(sample: readonly number[], p: number): number {
  const sorted = [...sample].sort((a, b) => a - b)
  return sorted[Math.floor(p * (sorted.length - 1))] ?? Number.NaN
}

const MUST_BE_NONE = ['duplicates', 'losses', 'contradictions', 'discrepancies', 'stuck'] as const

/** What must not be, by name. */
export function violations(findings: Findings): string[] {
  return [
    ...MUST_BE_NONE.filter((name) => findings[name] > 0).map((name) => `${name}: ${findings[name]}`),
    ...findings.irreparable,
    ...(findings.shed > 0 ? [`load not held: ${findings.shed} requests were not sent`] : []),
    ...findings.faults.flatMap(({ kind, recoveredMs }) => (recoveredMs === null ? [`never recovered: ${kind}`] : [])),
  ]
}

export function table(found: Findings): string {
  const rate = (n: number) => `${(n / found.seconds).toFixed(1)}/s`
  const ms = (p: number) => `${percentile(found.quietMs, p).toFixed(0)} ms`
  const rows: [string, string][] = [
    ['length', `${(found.seconds / 60).toFixed(1)} min, seed ${found.seed}`],
    ['load', `${rate(found.asked)} asked of ${found.rate}/s wanted, ${rate(found.answered)} answered with retries`],
    ['orders in quiet time', `${found.quietMs.length}, p50 ${ms(0.5)}, p99 ${ms(0.99)}`],
    ['keys', `${found.keys}, the longest ${(found.longestMs / 1000).toFixed(1)} s to its final answer`],
    ...FAULT_KINDS.flatMap((kind): [string, string][] => {
      const times = found.faults.flatMap((fault) => (fault.kind === kind ? [fault.recoveredMs ?? Number.NaN] : []))
      if (times.length === 0) return []
      const inSeconds = (p: number) => `${(percentile(times, p) / 1000).toFixed(2)} s`
      return [[kind, `${times.length} times, works again after ${inSeconds(0.5)}, at most ${inSeconds(1)}`]]
    }),
    ['charged twice', String(found.duplicates)],
    ['lost', String(found.losses)],
    ['contradictions', String(found.contradictions)],
    ['discrepancies', String(found.discrepancies)],
    ['stuck', String(found.stuck)],
    ...found.memory.map((gauge, i): [string, string] => [`memory of node ${i + 1}`, inWords(gauge, 'MiB')]),
    ['connections', inWords(found.connections, '')],
  ]
  const answers = Object.entries(found.statuses).sort(([, a], [, b]) => b - a)
  return [
    '| | |',
    '|---|---|',
    ...rows.map(([name, value]) => `| ${name} | ${value.trim()} |`),
    '',
    `answers: ${answers.map(([name, count]) => `${name} ×${count}`).join(', ')}`,
    ...found.wrong,
  ].join('\n')
}

function inWords({ start, least, most, end, slope }: Gauge, unit: string): string {
  const slopeWords = slope === null ? '' : `, ${slope >= 0 ? '+' : ''}${slope.toFixed(2)} a minute after the warm-up`
  const [a, b, c, d] = [start, least, most, end].map((n) => n.toFixed(0))
  return `${a} ${unit} at the start, ${b} to ${c}, ${d} at the end${slopeWords}`
}
