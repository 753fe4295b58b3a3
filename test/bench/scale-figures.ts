// What was measured with few records and with many, side by side: medians, their ratio, and how far the rounds differ.

export interface Sample {
  small: number[]
  large: number[]
}

export interface Line {
  what: string
  unit: string
  sample: Sample
  /** The ratio to reach, where it is the same work in both, and the most that it may be, where that is a matter of patience. */
  ratio?: number
  limit?: number
}

export const newSample = (): Sample => ({ small: [], large: [] })

export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(p * sorted.length) - 1] ?? sorted[0] ?? Number.NaN
}

const median = (values: readonly number[]): number => percentile(values, 0.5)

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2))

/** Below this two runs of one statement differ by more than twice for no reason at all. */
const NOISE_MS = 2

function isMet({ unit, sample, ratio = Number.POSITIVE_INFINITY, limit }: Line): boolean {
  const [small, large] = [median(sample.small), median(sample.large)]
  const floor = unit === 'ms' && limit !== undefined ? NOISE_MS : 0
  return large <= ratio * Math.max(small, floor) && (limit === undefined || percentile(sample.large, 0.95) <= limit)
}

/** The table, and what is not met. */
export function tableOf(lines: readonly Line[], records: { small: number; large: number }): [string, string[]] {
  const count = (n: number) => n.toLocaleString('en')
  const rows = lines.map((line) => {
    const { small, large } = line.sample
    const ratios = small.flatMap((value, round) => (large[round] === undefined ? [] : [large[round] / value]))
    const spread = `${figure(percentile(ratios, 0.1))}–${figure(percentile(ratios, 0.9))}`
    const reach = [
      ...(line.ratio === undefined ? [] : [`≤ ${line.ratio} ×`]),
      ...(line.limit === undefined ? [] : [`≤ ${line.limit} ${line.unit}`]),
    ].join(', ')
    return `| ${line.what} | ${figure(median(small))} | ${figure(median(large))} | ${figure(percentile(large, 0.95))} ${line.unit} | ${figure(median(large) / median(small))} | ${spread} | ${reach} | ${isMet(line) ? 'yes' : '**no**'} |`
  })
  const head = [
    `| what | ${count(records.small)} | ${count(records.large)} | p95 there | ratio | spread | to reach | met |`,
    '|---|---|---|---|---|---|---|---|',
  ]
  return [[...head, ...rows].join('\n'), lines.filter((line) => !isMet(line)).map(({ what }) => what)]
}
