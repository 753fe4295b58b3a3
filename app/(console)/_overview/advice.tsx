// Lease and retention against what was measured, each with its scale.
import { Check, Hourglass, TriangleAlert } from 'lucide-react'
import { Section } from '../../_ui/section'
import { Unread } from '../_shell/unread'
import { type AdviceWords, leaseWords, retentionWords, type ScaleView } from './advice-words'
import { readStats } from './reads'
import type { View } from './window'

const ICONS = { change: TriangleAlert, keep: Check, unknown: Hourglass } as const

export async function AdviceSection({ view }: { view: View }) {
  const stats = await readStats(view)
  return (
    <Section title="Advice" note="from what was measured">
      {stats.ok ? (
        <div className="border-t border-line">
          <Advised words={retentionWords(stats.value.advice.retention)} />
          <Advised words={leaseWords(stats.value.advice.lease)} />
        </div>
      ) : (
        <Unread what="What was measured" why={stats.message} />
      )}
    </Section>
  )
}

function Advised({ words: { kind, title, detail, scale } }: { words: AdviceWords }) {
  const Icon = ICONS[kind]
  return (
    <div className="not-last:border-b not-last:border-line py-3">
      <h3 className="flex items-center gap-2 text-13 font-semibold">
        <Icon size={14} aria-hidden />
        {title}
      </h3>
      <p className="mt-0.5 text-text-2">{detail}</p>
      {scale && <Scale scale={scale} />}
    </div>
  )
}

const HATCH = 'repeating-linear-gradient(135deg,var(--ink)_0_2px,transparent_2px_5px)'
/** As wide as a label is in such a small scale, about: what would run into the next one is left out. */
const LETTER = 0.016
const GAP = 0.02

/** The later ones count more. */
function labelled({ most, marks }: ScaleView) {
  const kept: { label: string; left: number }[] = []
  let limit = Number.POSITIVE_INFINITY
  for (const { value, label } of marks.toReversed()) {
    const width = LETTER * label.length
    const left = Math.max(0, Math.min(value / most - width / 2, 1 - width))
    if (left + width + GAP > limit) continue
    kept.push({ label, left })
    limit = left
  }
  return kept
}

/** What is set as a bar, what was measured as marks on it; hatched is what is missing. */
function Scale({ scale }: { scale: ScaleView }) {
  const { most, set, marks } = scale
  const at = (value: number) => `${(100 * value) / most}%`
  const last = marks.at(-1)?.value ?? 0
  return (
    <div aria-hidden className="mt-1 pt-5 pb-5 text-11 text-text-2">
      <div className="relative h-2 bg-hover">
        <div className="absolute inset-y-0 left-0 bg-(--flow)" style={{ width: at(set.value) }} />
        {last > set.value && (
          <div
            className="absolute inset-y-0"
            style={{ left: at(set.value), width: at(last - set.value), backgroundImage: HATCH.replaceAll('_', ' ') }}
          />
        )}
        {marks.map(({ value, label }) => (
          <span key={label} className="absolute -top-0.5 h-3 w-px bg-text" style={{ left: at(value) }} />
        ))}
        {labelled(scale).map(({ label, left }) => (
          <span key={label} className="absolute top-3.5 whitespace-nowrap" style={{ left: `${100 * left}%` }}>
            {label}
          </span>
        ))}
        <span
          className="absolute -top-5 font-semibold whitespace-nowrap text-text"
          style={
            set.value / most > 0.5
              ? { right: `calc(100% - ${at(set.value)} - 5px)` }
              : { left: `calc(${at(set.value)} - 5px)` }
          }
        >
          {set.label}
        </span>
        <span
          className="absolute -top-1.5 size-0 -translate-x-1/2 border-x-4 border-t-6 border-x-transparent border-t-text"
          style={{ left: at(set.value) }}
        />
      </div>
    </div>
  )
}

export const AdviceToCome = () => (
  <Section title="Advice" note="from what was measured">
    <div className="h-[240px] border-t border-line" />
  </Section>
)
