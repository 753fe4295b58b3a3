// Chance that can be repeated: the same seed gives the same sequence on every machine.

export interface Random {
  /** From 0 up to and without 1. */
  next(): number
  between(low: number, high: number): number
  pick<T>(list: readonly T[]): T
  /** A name, as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name
}

export function openRandom(seed: number): Random {
  let state = seed >>> 0
  // Weyl's sequence, its bits well stirred: neighbouring seeds have nothing in common.
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0
    let bits = Math.imul(state ^ (state >>> 16), 0x45d9f3b)
    bits = Math.imul(bits ^ (bits >>> 15), 0x45d9f3b)
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    pick: (list) => list[Math.floor(next() * list.length)]!,
    weighted(weights) {
      const names = Object.keys(weights) as (keyof typeof weights)[]
      let left = next() * names.reduce((sum, name) => sum + weights[name], 0)
      const drawn = names.find((name) => {
        left -= weights[name]
        return left < 0
      })
      return drawn ?? names[0]!
    },
  }
}
