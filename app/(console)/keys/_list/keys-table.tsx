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
import { ALWAYS, COLUMNS, type ColumnId } from './column-names'
import { CELL_LOOKS, HEAD_LOOKS, Head } from './heads'
import { useList } from './list-state'
import { PageBox, RowBox } from './row-boxes'
import { useRowKeys } from './use-row-keys'
import { useWatch } from './use-watch'
import type { View } from './view'

const features = tableFeatures({ columnVisibilityFeature, rowSelectionFeature })
const helper = createColumnHelper<typeof features, KeyRow>()
const definitions = helper.columns(COLUMNS.map((id) => helper.display({ id, enableHiding: !ALWAYS.includes(id) })))

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
    columns: definitions,
    data: rows,
    getRowId: ({ id }) => id,
    state: { columnVisibility, rowSelection: selection },
    onRowSelectionChange: select,
  })
  const cursor = useRowKeys(body, select)
  const currencies = new Set(rows.flatMap(({ currency }) => currency ?? []))
  const oneCurrency = currencies.size === 1 ? [...currencies][0]! : null
  const shown = table.getVisibleLeafColumns().map(({ id }) => id as ColumnId)

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
            {table.getRowModel().rows.map((row) => (
              <KeyLine
                key={row.id}
                row={row.original}
                columns={shown}
                oneCurrency={oneCurrency !== null}
                isSelected={allMatching || row.getIsSelected()}
                isCursor={cursor === row.id}
                onToggle={row.getToggleSelectedHandler()}
              />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

interface KeyLineProps {
  row: KeyRow
  columns: readonly ColumnId[]
  oneCurrency: boolean
  isSelected: boolean
  isCursor: boolean
  onToggle(event: unknown): void
}

function KeyLine({ row, columns, oneCurrency, isSelected, isCursor, onToggle }: KeyLineProps) {
  return (
    <tr
      data-row={row.id}
      data-selected={isSelected || undefined}
      className={clsx(
        'group/row scroll-mt-9 scroll-mb-32 border-b border-line wide:h-[34px]',
        'max-wide:grid max-wide:grid-cols-[24px_auto_auto_minmax(0,1fr)_auto] max-wide:items-baseline max-wide:gap-x-2 max-wide:px-(--gutter) max-wide:py-2.5',
        isSelected ? 'bg-selected' : 'hover:bg-hover',
      )}
    >
      <td
        className={clsx(
          'pl-(--gutter) leading-none wide:pr-1 wide:align-middle max-wide:row-span-3 max-wide:self-start max-wide:p-0',
          isCursor && 'shadow-[inset_2px_0_0_var(--ink)]',
        )}
      >
        <RowBox name={row.key} checked={isSelected} onToggle={onToggle} />
      </td>
      {columns.map((id) => (
        <td key={id} className={CELL_LOOKS[id]}>
          {CELLS[id]({ row, oneCurrency })}
        </td>
      ))}
    </tr>
  )
}
