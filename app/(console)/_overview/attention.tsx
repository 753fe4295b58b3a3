// What needs attention, in the order in which to look, each with its rows one click away. When nothing does, what was
// checked says so.
import { Check, FingerprintPattern, type LucideIcon, MailX, Repeat, Scale, ServerOff, TimerOff } from 'lucide-react'
import Link from 'next/link'
import { SolidQuestion } from '../../_ui/icons'
import { Section } from '../../_ui/section'
import { Age, Instant } from '../../_ui/time'
import { Unread } from '../_shell/unread'
import type { AttentionRow, Concern, QuietCheck } from './attention-words'
import { readChecked } from './checked'
import { isFiltered, type View } from './window'

/** In the colour of the state that it is about, where it is about one. */
const ICONS: Record<Concern, { icon: LucideIcon; className: string }> = {
  dead_letters: { icon: MailX, className: 'text-unknown' },
  oldest_unknown: { icon: SolidQuestion, className: 'text-unknown' },
  expired_leases: { icon: TimerOff, className: 'text-text-2' },
  misuse_spikes: { icon: FingerprintPattern, className: 'text-text-2' },
  replay_storms: { icon: Repeat, className: 'text-text-2' },
  open_discrepancies: { icon: Scale, className: 'text-text-2' },
  store_errors: { icon: ServerOff, className: 'text-text-2' },
}

export async function AttentionSection({ view }: { view: View }) {
  const read = await readChecked()
  return (
    <Section title="Needs attention" note={isFiltered(view) ? 'of all tenants and endpoints' : undefined}>
      {read.ok ? (
        <Checks rows={read.value.rows} quiet={read.value.quiet} />
      ) : (
        <Unread what="What needs attention" why={read.message} />
      )}
    </Section>
  )
}

function Checks({ rows, quiet }: { rows: readonly AttentionRow[]; quiet: readonly QuietCheck[] }) {
  if (rows.length === 0) return <Calm checks={quiet} />
  return (
    <>
      <ul className="list-none border-t border-line">
        {rows.map((row) => (
          <Row key={row.id} row={row} />
        ))}
      </ul>
      {quiet.length > 0 && (
        <p className="flex items-center gap-2.5 pt-3 text-12 text-text-2">
          <Check size={14} aria-hidden />
          Checked and quiet: {quiet.map(({ word }) => word.toLowerCase()).join(', ')}.
        </p>
      )}
    </>
  )
}

function Row({ row: { concern, title, detail, when, link } }: { row: AttentionRow }) {
  const { icon: Icon, className } = ICONS[concern]
  return (
    <li className="grid grid-cols-[16px_1fr_auto] items-center gap-x-3 border-b border-line py-2 wide:grid-cols-[16px_1fr_auto_96px]">
      <Icon size={16} aria-hidden className={className} />
      <div className="min-w-0">
        <h3 className="text-13 font-medium">{title}</h3>
        <p className="text-12 leading-5 text-text-2">{detail}</p>
      </div>
      <span className="text-12 whitespace-nowrap text-text-2 max-wide:hidden">{when && <When {...when} />}</span>
      <span className="self-center text-right text-13 whitespace-nowrap">
        {link && <Link href={link.href}>{link.words}</Link>}
      </span>
    </li>
  )
}

function When({ words, at }: NonNullable<AttentionRow['when']>) {
  if (!at) return words
  return (
    <>
      {words} {words === 'oldest' ? <Age since={at} /> : <Instant at={at} seconds={false} />}
    </>
  )
}

/** Each check by itself: that it was made is what there is to see. */
function Calm({ checks }: { checks: readonly QuietCheck[] }) {
  return (
    <ul className="list-none border-t border-line">
      {checks.map(({ concern, word, value }) => (
        <li key={concern} className="flex min-h-9 items-center gap-3 border-b border-line py-1.5">
          <Check size={14} aria-hidden className="text-text-2" />
          <span className="flex-1">{word}</span>
          <span className="text-12 text-text-2">{value}</span>
        </li>
      ))}
    </ul>
  )
}

export const AttentionToCome = () => (
  <Section title="Needs attention">
    <div className="h-[260px] border-t border-line" />
  </Section>
)
