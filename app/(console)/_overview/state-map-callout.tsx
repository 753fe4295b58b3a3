// What goes into the state that piles up and what comes out of it, and what else is worth knowing of its keys.
import Link from 'next/link'
import type { StateMapView } from '../../../lib/console/state-map'
import { LOOKS } from '../../_ui/state'
import { count } from '../../_ui/words'
import { rate as rateWord } from './rate'
import { WINDOW_WORDS } from './window'

export type CalloutLine = readonly { text: string; href?: string }[]

const LONGEST_BAR = 120

interface CalloutProps {
  at: { x: number; y: number }
  view: StateMapView
  lines: readonly CalloutLine[]
}

export function Callout({ at, view, lines }: CalloutProps) {
  const { piling, window } = view
  if (!piling) return null
  const { colour } = LOOKS[piling.state]
  const most = Math.max(piling.inPerMinute, piling.outPerMinute, 0.1)
  const lengthOf = (perMinute: number) => Math.max(2, (perMinute / most) * LONGEST_BAR)
  const sides = [
    { side: 'in', perMinute: piling.inPerMinute, fill: colour },
    { side: 'out', perMinute: piling.outPerMinute, fill: 'var(--flow)' },
  ]
  return (
    <g>
      <text x={at.x} y={at.y} fill={colour} className="text-12 font-semibold">
        Piling up: +{count(piling.grown)} in the last {WINDOW_WORDS[window]}
      </text>
      {sides.map(({ side, perMinute, fill }, i) => (
        <g key={side}>
          <text x={at.x} y={at.y + 25 + 18 * i} className="fill-text-2 text-12">
            {side}
          </text>
          <rect x={at.x + 24} y={at.y + 16 + 18 * i} width={lengthOf(perMinute)} height={9} fill={fill} />
          <text x={at.x + 32 + lengthOf(perMinute)} y={at.y + 25 + 18 * i} className="fill-text text-12 font-semibold">
            {rateWord(perMinute)}
          </text>
        </g>
      ))}
      {lines.map((line, i) => (
        <text
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines have no other name, and stay in their order
          key={i}
          x={at.x}
          y={at.y + 68 + 18 * i}
          className="fill-text-2 text-12"
        >
          {line.map(({ text, href }) =>
            href ? (
              <Link key={text} href={href}>
                <tspan className="fill-text underline decoration-(--line-control) underline-offset-3">{text}</tspan>
              </Link>
            ) : (
              <tspan key={text}>{text}</tspan>
            ),
          )}
        </text>
      ))}
    </g>
  )
}
