// Percentiles from histograms: which bucket the value falls into is certain, where in it is interpolated. Pure.
import { BOUNDS, type HistogramName } from './names'

/** How many fell into each bucket, by its upper bound as the store has it. */
export type Buckets = Readonly<Record<string, number>>

export const sizeOf = (buckets: Buckets): number => Object.values(buckets).reduce((sum, count) => sum + count, 0)

/** Null where nothing was measured. Beyond the last bound nothing is known: then that bound is the answer. */
export function percentile(histogram: HistogramName, buckets: Buckets, share: number): number | null {
  const found = bucketAt(histogram, buckets, share)
  if (!found) return null
  const { lower, upper, before, count, rank } = found
  return upper === null ? lower : lower + ((upper - lower) * (rank - before)) / count
}

/** The bound that so large a share stays within for certain; null where it is beyond the last one, or nothing is known. */
export const boundCovering = (histogram: HistogramName, buckets: Buckets, share: number): number | null =>
  bucketAt(histogram, buckets, share)?.upper ?? null

/** How large a share is beyond a limit: of the bucket that it falls into, as much as lies beyond it. */
export function shareBeyond(histogram: HistogramName, buckets: Buckets, limit: number): number | null {
  const size = sizeOf(buckets)
  if (size === 0) return null
  let beyond = buckets['+Inf'] ?? 0
  let lower = 0
  for (const upper of BOUNDS[histogram]) {
    const above = Math.min(1, Math.max(0, (upper - limit) / (upper - lower)))
    beyond += above * (buckets[String(upper)] ?? 0)
    lower = upper
  }
  return beyond / size
}

function bucketAt(histogram: HistogramName, buckets: Buckets, share: number) {
  const rank = share * sizeOf(buckets)
  if (rank <= 0) return null
  let before = 0
  let lower = 0
  for (const upper of BOUNDS[histogram]) {
    const count = buckets[String(upper)] ?? 0
    if (count > 0 && before + count >= rank) return { lower, upper, before, count, rank }
    before += count
    lower = upper
  }
  return { lower, upper: null, before, count: buckets['+Inf'] ?? 0, rank }
}
