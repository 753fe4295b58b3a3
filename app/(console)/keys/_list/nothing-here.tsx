// No row to show: which of three reasons it is, and the way on.
import Link from 'next/link'
import type { KeyFilter } from '../../../../lib/console/keys-filter'
import { printSearch } from '../../../../lib/console/search-text'
import { Button } from '../../../_ui/button'
import { firstPage, hrefOf, isFiltered, isFirstPage, type View } from './view'

export function NothingHere({ view }: { view: View }) {
  if (!isFirstPage(view))
    return (
      <Said words="There are no more keys here.">
        <Button asChild>
          <Link href={hrefOf(firstPage(view))}>To the first page</Link>
        </Button>
      </Said>
    )
  if (!isFiltered(view))
    return (
      <Said words="No keys yet. Send the first request.">
        <Button kind="primary" asChild>
          <Link href="/">How to send it</Link>
        </Button>
      </Said>
    )
  return (
    <Said words="No key matches.">
      <ul aria-label="What was searched for" className="flex list-none flex-wrap justify-center gap-2">
        {partsOf(view.filter).map(({ text, rest }) => (
          <li key={text}>
            <Button asChild>
              <Link href={hrefOf({ ...firstPage(view), filter: rest })}>
                Without <code>{text}</code>
              </Link>
            </Button>
          </li>
        ))}
      </ul>
      <Link href={hrefOf({ ...firstPage(view), filter: {} })}>Clear the filter</Link>
    </Said>
  )
}

const Said = ({ words, children }: { words: string; children: React.ReactNode }) => (
  <div className="grid justify-items-center gap-4 px-(--gutter) py-16 text-center">
    <p className="text-16 font-semibold">{words}</p>
    {children}
  </div>
)

/** Each part of a filter, and the filter without it. */
function partsOf(filter: KeyFilter): { text: string; rest: KeyFilter }[] {
  return (Object.keys(filter) as (keyof KeyFilter)[]).map((name) => {
    const { [name]: part, ...rest } = filter
    return { text: printSearch({ [name]: part }), rest }
  })
}
