// The last results of a daemon as bars: the last one in ink, one that failed open. Readers get the same in a sentence.
import type { RunBar } from '../../../lib/maintenance/status'
import { count } from '../../_ui/words'

const PLACES = 30
const WIDTH = 240
const HEIGHT = 32
const STEP = WIDTH / PLACES
const GAP = 2

export function Bars({ bars, charted }: { bars: readonly RunBar[]; charted: string }) {
  const most = Math.max(1, ...bars.map(({ done }) => done))
  const first = PLACES - bars.length
  return (
    <figure>
      <svg
        role="img"
        aria-label={inWords(bars, charted)}
        viewBox={`0 0 ${WIDTH} ${HEIGHT + 1}`}
        className="block h-[33px] w-60 max-w-full"
      >
        {bars.map(({ id, done, failed }, i) => {
          const height = done === 0 ? 1 : Math.max(2, (done / most) * HEIGHT)
          const box = { x: (first + i) * STEP, y: HEIGHT - height, width: STEP - GAP, height }
          const last = i === bars.length - 1
          return failed ? (
            <rect
              key={id}
              {...box}
              x={box.x + 0.5}
              y={Math.min(box.y, HEIGHT - 6) + 0.5}
              width={box.width - 1}
              height={Math.max(5, height - 1)}
              fill="none"
              stroke="var(--danger)"
            />
          ) : (
            <rect key={id} {...box} fill={last ? 'var(--ink)' : 'var(--ch-created)'} />
          )
        })}
        <rect x="0" y={HEIGHT} width={WIDTH} height="1" fill="var(--line-strong)" />
      </svg>
      <figcaption className="mt-0.5 text-11 text-text-2">
        {charted}, last {bars.length === 1 ? 'run' : `${bars.length || PLACES} runs`}
        {bars.some(({ failed }) => failed) && ', open: failed'}
      </figcaption>
    </figure>
  )
}

function inWords(bars: readonly RunBar[], charted: string): string {
  if (bars.length === 0) return `${charted}: it has not run yet`
  const done = bars.map((bar) => bar.done)
  const failed = bars.filter((bar) => bar.failed).length
  const range = `from ${count(Math.min(...done))} to ${count(Math.max(...done))}, the last one ${count(done.at(-1)!)}`
  return `${charted}, last ${bars.length} runs: ${range}${failed > 0 ? `, ${count(failed)} failed` : ''}`
}
