import { Verdict } from '../../_ui/section'
import type { Checked } from './attention-words'
import { readChecked } from './checked'
import { readStateMap } from './reads'
import { restOf, verdictOf } from './verdict-words'
import type { View } from './window'

export async function OverviewVerdict({ view }: { view: View }) {
  const [map, read] = await Promise.all([readStateMap(view), readChecked()])
  if (!map.ok || !read.ok)
    return <Verdict rest="What is shown below is what could be read.">How things stand can’t be told just now.</Verdict>
  const { oldestUnknownSeconds, ...found } = read.value
  const checked: Checked = found
  return <Verdict rest={restOf(map.value, checked, oldestUnknownSeconds)}>{verdictOf(map.value, checked)}</Verdict>
}

/** As high as it will be. */
export const VerdictToCome = () => (
  <Verdict rest="&nbsp;">
    <span aria-hidden>&nbsp;</span>
  </Verdict>
)
