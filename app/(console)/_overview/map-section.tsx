import { Section } from '../../_ui/section'
import { duration, plural } from '../../_ui/words'
import { Unread } from '../_shell/unread'
import { groupWords } from './attention-words'
import { readAttention, readBackground, readStateMap } from './reads'
import { StateMap, StateMapLegend } from './state-map'
import type { CalloutLine } from './state-map-callout'
import { isFiltered, keysHref, type View, WINDOW_WORDS } from './window'

export async function MapSection({ view, empty = false }: { view: View; empty?: boolean }) {
  const map = await readStateMap(view)
  const note = empty
    ? 'What a key can be, and how it gets there'
    : `Counts now, rates over the last ${WINDOW_WORDS[view.window]}${isFiltered(view) ? '. What is usual is known of all keys together only' : ''}`
  return (
    <Section
      title="State map"
      note={note}
      aside={empty ? undefined : <StateMapLegend />}
      className={empty ? undefined : 'border-b border-line'}
    >
      {map.ok ? (
        <StateMap view={map.value} empty={empty} callout={map.value.piling ? await calloutOf(view) : []} />
      ) : (
        <Unread what="The state map" why={map.message} />
      )}
    </Section>
  )
}

/** Of unknown keys: how old, how many wait for people, whose they mostly are. */
async function calloutOf(view: View): Promise<CalloutLine[]> {
  const [attention, background] = await Promise.all([readAttention(), readBackground()])
  if (!attention.ok || !background.ok) return []
  const unknown = attention.value.find(({ concern }) => concern === 'oldest_unknown')
  const dead = attention.value.find(({ concern }) => concern === 'dead_letters')
  const { unknownMostly } = background.value
  const lines: CalloutLine[] = []
  if (unknown?.oldestSeconds)
    lines.push([
      { text: `Oldest ${duration(unknown.oldestSeconds)}${dead?.count ? ', with ' : ''}` },
      ...(dead?.count
        ? [{ text: plural(dead.count, 'dead letter'), href: keysHref(view, { deadLettered: 'true' }) }]
        : []),
    ])
  if (unknown && unknownMostly) {
    const more = { state: 'unknown', tenant: unknownMostly.tenant }
    lines.push([
      { text: `${unknownMostly.count} of ${unknown.count}`, href: keysHref({ endpoint: view.endpoint }, more) },
      { text: ` ${groupWords(unknownMostly)}` },
    ])
  }
  return lines
}

/** As high as the drawing will be: what is below stays where it is. */
export const MapToCome = () => (
  <Section title="State map" note="Counts now" className="border-b border-line">
    <div className="@container">
      <div className="h-[640px] @min-[1000px]:h-[470px]" />
    </div>
  </Section>
)
