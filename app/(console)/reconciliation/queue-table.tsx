// Keys whose outcome nobody knows, a row each: what is at stake, since when, what the provider said last, and when it is
// asked again. Under 720 px a row is three lines.
import Link from 'next/link'
import type { QueuedKey } from '../../../lib/console/unknown-queue'
import { Table, Td, Th } from '../../_ui/table'
import { Age, Countdown, Instant } from '../../_ui/time'
import { count, endpointWord, money } from '../../_ui/words'
import { signOf } from '../keys/[id]/look-up-box'

interface QueueTableProps {
  keys: readonly QueuedKey[]
  maxLookUps: number
  label: string
  /** The list that a key's page leads on in. */
  from: string
}

export function QueueTable({ keys, maxLookUps, label, from }: QueueTableProps) {
  return (
    <>
      <Table aria-label={label} className="max-wide:hidden">
        <thead>
          <tr>
            <Th>Key</Th>
            <Th>Tenant</Th>
            <Th>Endpoint</Th>
            <Th number>Amount</Th>
            <Th number>Unknown for</Th>
            <Th>Last look-up</Th>
            <Th number>Look-ups</Th>
            <Th number>Next look-up</Th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id} className="hover:bg-hover">
              <Td mono className="max-w-0 min-w-48 truncate">
                <KeyLink of={key} from={from} />
              </Td>
              <Td className="whitespace-nowrap">{key.tenantName ?? key.tenantId}</Td>
              <Td>{endpointWord(key.endpoint)}</Td>
              <Td number>{amountOf(key)}</Td>
              <Td number>
                <Age since={key.since} />
              </Td>
              <Td className="whitespace-nowrap">
                <LastLookUp of={key} />
              </Td>
              <Td number>
                {count(key.lookUps)} of {count(maxLookUps)}
              </Td>
              <Td number>
                <NextLookUp of={key} />
              </Td>
            </tr>
          ))}
        </tbody>
      </Table>
      <ul aria-label={label} className="list-none border-t border-line wide:hidden">
        {keys.map((key) => (
          <li key={key.id} className="border-b border-line py-2">
            <p className="truncate font-mono text-12 leading-5">
              <KeyLink of={key} from={from} />
            </p>
            <p className="flex flex-wrap justify-between gap-x-4">
              <span>
                {key.tenantName ?? key.tenantId}, {endpointWord(key.endpoint)}
              </span>
              <span>{amountOf(key)}</span>
            </p>
            <p className="flex flex-wrap justify-between gap-x-4 text-12 text-text-2">
              <span>
                unknown for <Age since={key.since} />, <LastLookUp of={key} />
              </span>
              <span>
                <NextLookUp of={key} before="next in " />
              </span>
            </p>
          </li>
        ))}
      </ul>
    </>
  )
}

const KeyLink = ({ of: { id, key }, from }: { of: QueuedKey; from: string }) => (
  <Link href={`/keys/${id}?from=${encodeURIComponent(from)}`} title={key} prefetch={false}>
    {key}
  </Link>
)

const amountOf = ({ amountCents, currency }: QueuedKey): string =>
  amountCents === null || currency === null ? '–' : money(amountCents, currency)

function LastLookUp({ of: { lastLookUp } }: { of: QueuedKey }) {
  if (!lastLookUp) return <span className="text-text-2">not asked yet</span>
  return (
    <>
      {signOf(lastLookUp.verdict).word}, <Instant at={lastLookUp.at} />
    </>
  )
}

function NextLookUp({ of: { nextAt }, before }: { of: QueuedKey; before?: string }) {
  return nextAt ? <Countdown until={nextAt} after="due" before={before} /> : 'none'
}
