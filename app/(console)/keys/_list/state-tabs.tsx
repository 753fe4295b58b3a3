// The states as tabs: links, each with how many keys there are. The page does not wait for the numbers.
import clsx from 'clsx'
import Link from 'next/link'
import { Suspense } from 'react'
import type { StateCounts } from '../../../../lib/console/state-counts'
import { STATES, type State } from '../../../../lib/idempotency/states'
import { LOOKS } from '../../../_ui/state'
import { stateCount } from '../../../_ui/words'
import { TabStrip } from './tab-strip'
import { firstPage, hrefOf, type View } from './view'

export type Counts = Promise<StateCounts | null>

export function StateTabs({ view, counts }: { view: View; counts: Counts }) {
  const { state: states = [], ...rest } = view.filter
  const href = (state: State | null) =>
    hrefOf({ ...firstPage(view), filter: state ? { ...rest, state: [state] } : rest })
  return (
    <TabStrip current={states.length === 1 ? states[0]! : 'all'}>
      <Tab id="all" href={href(null)} isCurrent={states.length === 0}>
        All <Counted counts={counts} state={null} />
      </Tab>
      {STATES.map((state) => {
        const { icon: Icon, word, text } = LOOKS[state]
        return (
          <Tab key={state} id={state} href={href(state)} isCurrent={states.includes(state)}>
            <Icon size={14} aria-hidden className={clsx('shrink-0', text)} />
            {word} <Counted counts={counts} state={state} />
          </Tab>
        )
      })}
    </TabStrip>
  )
}

interface TabProps {
  id: string
  href: string
  isCurrent: boolean
  children: React.ReactNode
}

const Tab = ({ id, href, isCurrent, children }: TabProps) => (
  <Link
    href={href}
    scroll={false}
    prefetch={false}
    data-tab={id}
    aria-current={isCurrent ? 'page' : undefined}
    className={clsx(
      'flex h-10 shrink-0 items-center gap-1.5 border-b-2 px-2.5 whitespace-nowrap no-underline focus-visible:-outline-offset-2',
      isCurrent ? 'border-ink font-medium text-text' : 'border-transparent text-text-2 hover:text-text',
    )}
  >
    {children}
  </Link>
)

const Counted = ({ counts, state }: { counts: Counts; state: State | null }) => (
  <span className="min-w-4 text-12 font-normal text-text-2">
    <Suspense fallback={<span aria-hidden>…</span>}>
      <NumberOf counts={counts} state={state} />
    </Suspense>
  </span>
)

async function NumberOf({ counts, state }: { counts: Counts; state: State | null }) {
  const all = await counts
  if (!all) return '–'
  return stateCount(state ? all[state] : sumOf(all))
}

export const sumOf = (counts: StateCounts) => ({
  count: Object.values(counts).reduce((sum, { count }) => sum + count, 0),
  estimated: Object.values(counts).some(({ estimated }) => estimated),
})
