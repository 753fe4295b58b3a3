// Time as a line: to scale, with at most one cut. A key mostly hurries at first and then waits for long; drawn in one
// stretch, either would vanish. Where to cut is not guessed: it is where the moments end up furthest apart, taken
// together (the product of all distances between neighbours).

export interface Stretch {
  /** Seconds since the key was made. */
  from: number
  to: number
  /** Where it begins and ends on the line, as a part of it. */
  left: number
  right: number
}

export interface Scale {
  stretches: readonly Stretch[]
  at(seconds: number): number
}

/** How much of the line the first stretch may take. */
const FIRST_PARTS = [0.2, 0.3, 0.4, 0.5]
/** The cut itself, and the room on its sides. */
const CUT = 0.025
/** So much of a stretch is left free behind its last moment. */
const MARGIN = 1.25
/** A cut has to be worth being explained, and what comes after it is what is drawn smaller. */
const WORTH = Math.log(1.5)
const SMALLER = 3

export function scaleOf(moments: readonly number[], end: number): Scale {
  const to = Math.max(end, 0.001)
  const times = [...new Set(moments.filter((s) => s > 0 && s < to))].sort((a, b) => a - b)
  const best = bestCut(times, to)
  return scaleWith(
    best === null
      ? [{ from: 0, to, left: 0, right: 1 }]
      : [
          { from: 0, to: best.cut, left: 0, right: best.part },
          { from: best.cut, to, left: best.part + CUT, right: 1 },
        ],
  )
}

interface BestCut {
  cut: number
  part: number
}

function bestCut(times: readonly number[], end: number): BestCut | null {
  const gaps = times.length + 1
  let best: BestCut | null = null
  let most = WORTH
  times.forEach((time, i) => {
    const cut = Math.min(time * MARGIN, (time + (times[i + 1] ?? end)) / 2)
    const first = i + 1
    for (const part of FIRST_PARTS) {
      const closer = (part * end) / cut
      const farther = ((1 - part - CUT) * end) / (end - cut)
      const gain = first * Math.log(closer) + (gaps - first) * Math.log(farther)
      if (closer < SMALLER * farther || gain <= most) continue
      most = gain
      best = { cut, part }
    }
  })
  return best
}

function scaleWith(stretches: Stretch[]): Scale {
  return {
    stretches,
    at(seconds) {
      const within = stretches.find(({ to }) => seconds <= to) ?? stretches.at(-1)!
      const part = (Math.max(within.from, Math.min(within.to, seconds)) - within.from) / (within.to - within.from)
      return within.left + part * (within.right - within.left)
    },
  }
}

const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
]
/** Labels are at least so far apart, as a part of the line. */
const LABEL_PART = 0.085

/** The even seconds of a stretch, as many as can be read. */
export function ticksOf({ from, to, left, right }: Stretch): { seconds: number; at: number }[] {
  const most = Math.max(1, Math.floor((right - left) / LABEL_PART))
  const step = STEPS.find((seconds) => (to - from) / seconds <= most) ?? STEPS.at(-1)!
  const ticks: { seconds: number; at: number }[] = []
  for (let n = Math.ceil((from + 1e-9) / step); n * step < to; n++) {
    const seconds = n * step
    const at = left + ((seconds - from) / (to - from)) * (right - left)
    // the ends have words of their own
    if (at - left > LABEL_PART / 2 && (right < 1 || right - at > LABEL_PART / 2)) ticks.push({ seconds, at })
  }
  return ticks
}
