import { Section } from '../../_ui/section'
import { Unread } from '../_shell/unread'
import { Charts } from './charts'
import { chartsData } from './charts-data'
import { readSetting, readStats, readTrends } from './reads'
import { STEP_WORDS, type View, WINDOW_WORDS } from './window'

export async function ChartsSection({ view }: { view: View }) {
  const [setting, stats, trends] = await Promise.all([readSetting(), readStats(view), readTrends(view)])
  const failed = [setting, stats, trends].find(({ ok }) => !ok)
  return (
    <Section
      title={`The last ${WINDOW_WORDS[view.window]}`}
      note={`${STEP_WORDS[view.window]} The dashed one is still filling. Click one to see its keys.`}
    >
      {setting.ok && stats.ok && trends.ok ? (
        <Charts data={chartsData(stats.value, trends.value, view, setting.value.pace.gatewayTimeLimitSeconds)} />
      ) : (
        <Unread what="The charts" why={failed && !failed.ok ? failed.message : ''} />
      )}
    </Section>
  )
}

export const ChartsToCome = ({ view }: { view: View }) => (
  <Section title={`The last ${WINDOW_WORDS[view.window]}`} note={STEP_WORDS[view.window]}>
    <div className="h-[1500px] rounded-2 border border-line full:h-[520px]" />
  </Section>
)
