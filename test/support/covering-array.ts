// Pairwise: of all cells that there could be, a few in which every two values that can meet at all do meet. Which ones
// is decided by the cells alone, so the same ones are chosen in every run.

export type Values = Readonly<Record<string, string>>

/** Every two values of a cell, as text. */
function pairsOf(values: Values): string[] {
  const named = Object.entries(values).map(([name, value]) => `${name}=${value}`)
  return named.flatMap((one, i) => named.slice(i + 1).map((other) => `${one} & ${other}`))
}

/** The cell that adds the most pairs, again and again, until none adds any. */
export function coverPairs<Cell>(cells: readonly Cell[], valuesOf: (cell: Cell) => Values): Cell[] {
  const left = cells.map((cell) => ({ cell, pairs: pairsOf(valuesOf(cell)) }))
  const missing = new Set(left.flatMap(({ pairs }) => pairs))
  const chosen: Cell[] = []
  while (missing.size > 0) {
    let best = { ...left[0]!, adds: 0 }
    for (const { cell, pairs } of left) {
      const adds = pairs.filter((pair) => missing.has(pair)).length
      if (adds > best.adds) best = { cell, pairs, adds }
    }
    chosen.push(best.cell)
    for (const pair of best.pairs) missing.delete(pair)
  }
  return chosen
}

/** Pairs that could meet in one of the cells and do not in the chosen ones. */
export function missingPairs<Cell>(
  cells: readonly Cell[],
  chosen: readonly Cell[],
  valuesOf: (cell: Cell) => Values,
): string[] {
  const met = new Set(chosen.flatMap((cell) => pairsOf(valuesOf(cell))))
  return [...new Set(cells.flatMap((cell) => pairsOf(valuesOf(cell))))].filter((pair) => !met.has(pair))
}
