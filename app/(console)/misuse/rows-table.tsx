// Each time that a key came with another request: by whom, which key, and where the two differ.
import Link from 'next/link'
import type { MisuseRow } from '../../../lib/console/misuse'
import { Table, Td, Th } from '../../_ui/table'
import { Instant } from '../../_ui/time'
import { endpointWord } from '../../_ui/words'

const PATHS_SHOWN = 4
const cell = 'max-full:h-auto max-full:border-0 max-full:py-0 max-full:pr-0'

export function RowsTable({ rows, names }: { rows: readonly MisuseRow[]; names: ReadonlyMap<string, string> }) {
  return (
    <Table aria-label="Requests that reused a key" className="max-full:block">
      <thead className="max-full:sr-only">
        <tr>
          <Th>When</Th>
          <Th>Tenant</Th>
          <Th>Endpoint</Th>
          <Th>Key</Th>
          <Th>Differs at</Th>
          <Th className="max-full:hidden">Request</Th>
        </tr>
      </thead>
      <tbody className="max-full:block">
        {rows.map((row) => (
          <tr
            key={row.id}
            className="max-full:grid max-full:grid-cols-[minmax(0,1fr)_auto] max-full:gap-x-3 max-full:border-b max-full:border-line max-full:py-2"
          >
            <Td className={`${cell} whitespace-nowrap text-text-2 max-full:order-2`}>
              <Instant at={row.at} />
            </Td>
            <Td className={`${cell} max-full:order-1`}>
              <Link href={`/tenants/${row.tenantId}`}>{names.get(row.tenantId) ?? row.tenantId}</Link>
              <span className="text-text-2 full:hidden">, {endpointWord(row.endpoint)}</span>
            </Td>
            <Td className={`${cell} text-text-2 max-full:hidden`}>{endpointWord(row.endpoint)}</Td>
            <Td mono className={`${cell} [overflow-wrap:anywhere] max-full:order-3 max-full:col-span-2`}>
              <Link
                href={`/keys/${row.recordId}`}
                title={row.key}
                className="full:block full:max-w-[275px] full:truncate"
              >
                {row.key}
              </Link>
            </Td>
            <Td className={`${cell} max-full:order-4 max-full:col-span-2`}>
              <Differs paths={row.changedPaths} />
            </Td>
            <Td mono className="whitespace-nowrap text-text-2 max-full:hidden">
              {row.requestId}
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

function Differs({ paths }: { paths: readonly string[] }) {
  if (paths.length === 0) return <span className="text-text-2">The first request is erased</span>
  const more = paths.length - PATHS_SHOWN
  return (
    <span className="font-mono text-12 [overflow-wrap:anywhere]" title={more > 0 ? paths.join('\n') : undefined}>
      {paths.slice(0, PATHS_SHOWN).join(', ')}
      {more > 0 && <span className="font-sans text-text-2"> and {more} more</span>}
    </span>
  )
}
