// The few numbers that a table is made of.

export function median(sample: readonly number[]): number {
  const sorted = [...sample].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The median, and between which it lies. */
export function spread(sample: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...sample), Math.max(...sample)]
  return `${median(sample).toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`
}
