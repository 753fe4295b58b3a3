'use client'
// The table. The store filters, sorts and pages; this shows one page, keeps its numbers running, and never moves what
// somebody reads: what came in since is counted, and shown when they ask for it.
import {
  columnVisibilityFeature,
  createColumnHelper,
  rowSelectionFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import clsx from 'clsx'
import { useMemo, useRef } from 'react'
import type { KeyRow } from '../../../../lib/console/key-rows'
import { CELLS } from './cells'
import { ALWAYS, COLUMNS } from './column-names'
import { CELL_LOOKS, HEAD_LOOKS, Head } from './heads'
import { useList } from './list-state'
import { PageBox, RowBox } from './row-boxes'
import { useRowKeys } from './use-row-keys'
import { useWatch } from './use-watch'
import type { View } from './view'

const features = tableFeatures({ columnVisibilityFeature, rowSelectionFeature })
const helper = createColumnHelper<typeof features, KeyRow>()
const columns = helper.columns(COLUMNS.map((id) => helper.display({ id, enableHiding: !ALWAYS.includes(id) })))

interface KeysTableProps {
  view: View
  rows: KeyRow[]
  /** What is created behind this is new. */
  since: { createdAt: string; id: string }
}

export function KeysTable({ view, rows: loaded, since }: KeysTableProps) {
  const { hidden, selection, select, allMatching, pending } = useList()
  const body = useRef<HTMLTableSectionElement>(null)
  const rows = useWatch({ view, rows: loaded, since })
  const columnVisibility = useMemo(() => Object.fromEntries(hidden.map((id) => [id, false])), [hidden])
  const table = useTable({
    features,
    columns,
    data: rows,
    getRowId: ({ id }) => id,
    state: { columnVisibility, rowSelection: selection },
    onRowSelectionChange: select,
  })
  const cursor = useRowKeys(body, select)
  const currencies = new Set(rows.flatMap(({ currency }) => currency ?? []))
  const oneCurrency = currencies.size === 1 ? [...currencies][0]! : null
  const shown = table.getVisibleLeafColumns().map(({ id }) => id as (typeof COLUMNS)[number])

  return (
    <div className="@container">
      <div className="overflow-x-auto @min-[1080px]:overflow-x-visible">
        <table
          aria-label="Idempotency keys"
          aria-busy={pending || undefined}
          className={clsx(
            'w-full border-collapse text-left transition-opacity duration-(--t-base) max-wide:block',
            pending && 'opacity-60',
          )}
        >
          <thead className="z-10 bg-bg max-wide:hidden @min-[1080px]:sticky @min-[1080px]:top-0">
            <tr>
              <th scope="col" className={clsx(HEAD_LOOKS, 'w-11 pl-(--gutter) leading-none')}>
                <PageBox
                  all={allMatching || table.getIsAllPageRowsSelected()}
                  some={table.getIsSomePageRowsSelected()}
                  onToggle={table.getToggleAllPageRowsSelectedHandler()}
                />
              </th>
              {shown.map((id) => (
                <Head key={id} id={id} view={view} currency={oneCurrency} />
              ))}
            </tr>
          </thead>
          <tbody ref={body} className="max-wide:block">
            {table.getRowModel().rows.map((row) => {
              const selected = allMatching || row.getIsSelected()
              return (
                <tr
                  key={row.id}
                  data-row={row.id}
                  data-selected={selected || undefined}
                  className={clsx(
                    'group/row scroll-mb-32 scroll-mt-9 border-b border-line wide:h-[34px]',
                    'max-wide:grid max-wide:grid-cols-[24px_auto_auto_minmax(0,1fr)_auto] max-wide:items-baseline max-wide:gap-x-2 max-wide:px-(--gutter) max-wide:py-2.5',
                    selected ? 'bg-selected' : 'hover:bg-hover',
                  )}
                >
                  <td
                    className={clsx(
                      'pl-(--gutter) leading-none wide:pr-1 wide:align-middle max-wide:row-span-3 max-wide:self-start max-wide:p-0',
                      cursor === row.id && 'shadow-[inset_2px_0_0_var(--ink)]',
                    )}
                  >
                    <RowBox name={row.original.key} checked={selected} onToggle={row.getToggleSelectedHandler()} />
                  </td>
                  {shown.map((id) => (
                    <td key={id} className={CELL_LOOKS[id]}>
                      {CELLS[id]({ row: row.original, oneCurrency: oneCurrency !== null })}
                    </td>
                  ))}
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </div>
  )
}
