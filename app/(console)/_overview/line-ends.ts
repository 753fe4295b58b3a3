// Where the names of lines stand at their ends, moved apart where the lines end close to each other. Pure.

interface Drawn {
  /** What the top of the drawing stands for. */
  most: number
  /** In pixels. */
  height: number
}

const LINE_HEIGHT = 13

/** From the lowest line to the highest: the index of each one's last point, and how far from the top its name stands. */
export function lineEnds<Key extends string>(
  points: readonly Partial<Record<Key, number | null>>[],
  keys: readonly Key[],
  { most, height }: Drawn,
): Partial<Record<Key, { index: number; y: number }>> {
  const ends: Partial<Record<Key, { index: number; y: number }>> = {}
  let floor = height
  for (const key of keys) {
    const index = points.findLastIndex((point) => point[key] != null)
    if (index < 0) continue
    const y = Math.min(height * (1 - points[index]![key]! / most), floor)
    ends[key] = { index, y }
    floor = y - LINE_HEIGHT
  }
  return ends
}
