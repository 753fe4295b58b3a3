// What a run needs, over time: the memory of each node, and connections of the database.
import { readFile } from 'node:fs/promises'

export interface Gauge {
  start: number
  least: number
  most: number
  end: number
  /** A minute, by least squares, over what was measured after the warm-up. */
  slope: number | null
}

interface Sample {
  atMs: number
  value: number
}

export function openGauge(warmUpMs: number) {
  const samples: Sample[] = []
  const startedAt = performance.now()
  return {
    add: (value: number) => void samples.push({ atMs: performance.now() - startedAt, value }),
    last: () => samples.at(-1)?.value ?? 0,
    read(): Gauge {
      const values = samples.map(({ value }) => value)
      return {
        start: values[0] ?? 0,
        least: Math.min(...values),
        most: Math.max(...values),
        end: values.at(-1) ?? 0,
        slope: slopeOf(samples.filter(({ atMs }) => atMs >= warmUpMs)),
      }
    },
  }
}

function slopeOf(samples: readonly Sample[]): number | null {
  if (samples.length < 10) return null
  const mean = (numbers: number[]) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length
  const at = mean(samples.map(({ atMs }) => atMs))
  const level = mean(samples.map(({ value }) => value))
  const spread = samples.reduce((sum, { atMs }) => sum + (atMs - at) ** 2, 0)
  return (samples.reduce((sum, { atMs, value }) => sum + (atMs - at) * (value - level), 0) / spread) * 60_000
}

/** In MiB; null for a process that is not there. */
export async function residentMemory(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(status) ?? []
  return kib ? Number(kib) / 1024 : null
}
