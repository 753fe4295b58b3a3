// Which words fit beside the marks of a lane, and where: right of their mark, left of it, or above it. The more important
// come first and take their place; what does not fit is left out, since the list below the drawing says it anyway.

export interface Wish {
  /** Where its mark is, as a part of the line. */
  at: number
  text: string
  strong?: boolean
  /** How far its mark reaches to either side. */
  halfPx?: number
}

export interface Label extends Wish {
  place: 'right' | 'left' | 'above'
  anchor: 'start' | 'middle' | 'end'
}

interface Interval {
  from: number
  to: number
}

const PX_PER_CHARACTER = 6.4
const MARK_PX = 7
const ROOM_PX = 5

/** @param taken parts of the line where marks are, as [from, to]; nothing stands on the cut either, nor above it */
export function placeLabels(
  wishes: readonly Wish[],
  taken: readonly (readonly [number, number])[],
  widthPx: number,
  cut: readonly [number, number] | null = null,
): Label[] {
  const around = ([from, to]: readonly [number, number]): Interval => ({
    from: from * widthPx - MARK_PX,
    to: to * widthPx + MARK_PX,
  })
  const above = cut ? [around(cut)] : []
  const beside = [...taken.map(around), ...above]
  const placed: Label[] = []
  for (const wish of wishes) {
    const spot = spotFor(wish, beside, above, widthPx)
    if (!spot) continue
    ;(spot.label.place === 'above' ? above : beside).push(spot.box)
    placed.push(spot.label)
  }
  return placed
}

function spotFor(wish: Wish, beside: readonly Interval[], above: readonly Interval[], widthPx: number) {
  const x = wish.at * widthPx
  const half = wish.halfPx ?? MARK_PX
  const long = wish.text.length * PX_PER_CHARACTER
  const anchor = x < long / 2 ? 'start' : x > widthPx - long / 2 ? 'end' : 'middle'
  const over = { start: x - half, middle: x - long / 2, end: x + half - long }[anchor]
  const tries = [
    { label: { ...wish, place: 'right', anchor: 'start' }, box: boxAt(x + half + ROOM_PX, long), among: beside },
    { label: { ...wish, place: 'left', anchor: 'end' }, box: boxAt(x - half - ROOM_PX - long, long), among: beside },
    { label: { ...wish, place: 'above', anchor }, box: boxAt(over, long), among: above },
  ] as const
  return tries.find(
    ({ box, among }) => box.from >= 0 && box.to <= widthPx && !among.some((other) => overlap(other, box)),
  )
}

const boxAt = (from: number, long: number): Interval => ({ from, to: from + long })

const overlap = (a: Interval, b: Interval): boolean => a.from < b.to && b.from < a.to
