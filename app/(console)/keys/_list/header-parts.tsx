'use client'
// What the bar on top offers: what came in, the columns, the file, the keyboard.
import { ChevronDown, Columns3, Download, Ellipsis, Keyboard, ListRestart, Pause, RadioTower } from 'lucide-react'
import Link from 'next/link'
import { Button } from '../../../_ui/button'
import { Menu, MenuCheck, MenuItem, MenuLabel, MenuLine } from '../../../_ui/menu'
import { count } from '../../../_ui/words'
import { ALWAYS, COLUMN_WORDS, COLUMNS } from './column-names'
import { OPEN_HELP } from './events'
import { useList } from './list-state'
import { READY_VIEWS } from './ready-views'
import { exportHref, firstPage, hrefOf, isFirstPage, SORT_WORDS, type View } from './view'

/** They are counted up to a thousand. */
const newWords = (fresh: number): string => `${count(fresh)}${fresh >= 1000 ? '+' : ''} new`

/** Rows that came in wait until somebody asks for them: what is read does not move. */
function NewKeys({ view }: { view: View }) {
  const { news, selection, clearSelection, go, refresh } = useList()
  const isHeld = Object.keys(selection).length > 0
  if (news.failed) return <span className={quiet}>Not live: no answer</span>
  if (news.fresh === 0)
    return (
      <span className={quiet}>
        {isHeld ? <Pause size={14} aria-hidden /> : <RadioTower size={14} aria-hidden />}
        {isHeld ? 'Paused' : 'Live'}
      </span>
    )

  function load() {
    clearSelection()
    if (isFirstPage(view)) refresh()
    else go(hrefOf(firstPage(view)))
  }
  return (
    <Button onClick={load} title={isHeld ? 'Clears the selection' : undefined}>
      {isHeld ? <Pause size={14} aria-hidden /> : <ListRestart size={14} aria-hidden />}
      {newWords(news.fresh)}
    </Button>
  )
}

const quiet = 'flex items-center gap-1.5 text-12 whitespace-nowrap text-text-2'

const exports = (view: View) =>
  (['csv', 'json'] as const).map((format) => (
    <MenuItem key={format} asChild>
      <a href={exportHref(format, view)} download>
        {format === 'csv' ? 'CSV, for a spreadsheet' : 'JSON, for a program'}
      </a>
    </MenuItem>
  ))

const views = READY_VIEWS.map(({ name, href }) => (
  <MenuItem key={name} asChild>
    <Link href={href} scroll={false} prefetch={false}>
      {name}
    </Link>
  </MenuItem>
))

const openHelp = () => document.dispatchEvent(new Event(OPEN_HELP))

export function HeaderParts({ view }: { view: View }) {
  const { hidden, showColumn } = useList()
  return (
    <>
      <NewKeys view={view} />
      <Menu
        trigger={
          <Button className="max-wide:hidden">
            Views
            <ChevronDown size={14} aria-hidden />
          </Button>
        }
      >
        {views}
      </Menu>
      <Menu
        trigger={
          <Button className="max-wide:hidden">
            <Columns3 size={14} aria-hidden />
            Columns
          </Button>
        }
      >
        {COLUMNS.map((id) => (
          <MenuCheck
            key={id}
            checked={!hidden.includes(id)}
            disabled={ALWAYS.includes(id)}
            onCheckedChange={(shown) => showColumn(id, shown === true)}
          >
            {COLUMN_WORDS[id]}
          </MenuCheck>
        ))}
      </Menu>
      <Menu
        trigger={
          <Button className="max-wide:hidden">
            <Download size={14} aria-hidden />
            Export
          </Button>
        }
      >
        {exports(view)}
      </Menu>
      <Button kind="quiet" size="icon" aria-label="Keyboard shortcuts" className="max-wide:hidden" onClick={openHelp}>
        <Keyboard size={16} aria-hidden />
      </Button>
      <Menu
        trigger={
          <Button kind="quiet" size="icon" aria-label="More" className="wide:hidden">
            <Ellipsis size={16} aria-hidden />
          </Button>
        }
      >
        <MenuLabel>Views</MenuLabel>
        {views}
        <MenuLine />
        <MenuLabel>Sort</MenuLabel>
        {(Object.keys(SORT_WORDS) as View['sort'][]).map((sort) => (
          <MenuItem key={sort} asChild>
            <Link
              href={hrefOf({ ...firstPage(view), sort })}
              scroll={false}
              aria-current={sort === view.sort || undefined}
            >
              <span className="w-3">{sort === view.sort ? '✓' : ''}</span>
              {SORT_WORDS[sort]}
            </Link>
          </MenuItem>
        ))}
        <MenuLine />
        <MenuLabel>Export</MenuLabel>
        {exports(view)}
      </Menu>
    </>
  )
}
