// The keys of a run as they are now, each with what became of it where that was written down.
import Link from 'next/link'
import { PROBLEMS } from '../../../../../lib/http/problem'
import type { RunKey } from '../../../../../lib/maintenance/run-keys'
import { StateMark } from '../../../../_ui/state-mark'
import { Table, Td, Th } from '../../../../_ui/table'
import { Age, Instant } from '../../../../_ui/time'
import { endpointWord } from '../../../../_ui/words'

const cell = 'max-full:h-auto max-full:border-0 max-full:py-0 max-full:pr-0'

interface KeysTableProps {
  keys: readonly RunKey[]
  outcomes: boolean
  dryRun: boolean
}

export function KeysTable({ keys, outcomes, dryRun }: KeysTableProps) {
  return (
    <Table aria-label="Keys of this run" className="max-full:block">
      <thead className="max-full:sr-only">
        <tr>
          <Th>Key</Th>
          <Th>State now</Th>
          <Th>Tenant</Th>
          <Th>Endpoint</Th>
          <Th number>Age</Th>
          {outcomes && <Th>Outcome</Th>}
          {outcomes && <Th number>Asked at</Th>}
        </tr>
      </thead>
      <tbody className="max-full:block">
        {keys.map((key) => (
          <tr
            key={key.position}
            className="max-full:grid max-full:grid-cols-[minmax(0,1fr)_auto] max-full:gap-x-3 max-full:border-b max-full:border-line max-full:py-2"
          >
            <Td mono className={`${cell} [overflow-wrap:anywhere] max-full:col-span-2`}>
              {key.record ? <Link href={`/keys/${key.recordId}`}>{key.record.key}</Link> : key.recordId}
            </Td>
            {key.record ? (
              <>
                <Td className={cell}>
                  <StateMark state={key.record.state} />
                </Td>
                <Td className={cell}>{key.record.tenant}</Td>
                <Td className={`${cell} text-text-2 max-full:hidden`}>{endpointWord(key.record.endpoint)}</Td>
                <Td number className={`${cell} text-text-2 max-full:hidden`}>
                  <Age since={key.record.createdAt} />
                </Td>
              </>
            ) : (
              <Td colSpan={4} className={`${cell} text-text-2`}>
                {key.recordId.startsWith('idem_')
                  ? `Deleted${dryRun ? ' since' : ''}, nothing of it is kept`
                  : 'The provider’s reference: no key of ours has it'}
              </Td>
            )}
            {outcomes && <Td className={`${cell} max-full:text-text-2`}>{outcomeWords(key)}</Td>}
            {outcomes && (
              <Td number className={`${cell} text-text-2`}>
                {key.doneAt && <Instant at={key.doneAt} />}
              </Td>
            )}
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

/** What a person had done to it. */
const DONE: Record<string, string> = {
  expired: 'Expired',
  runAgain: 'Handed to a worker',
  resumed: 'Looked up by schedule again',
}

const VERDICTS: Record<string, string> = {
  succeeded: 'Charged',
  declined: 'Declined',
  not_found: 'No such charge',
  pending: 'Pending at the provider',
  unreachable: 'No answer',
}

function outcomeWords({ outcome }: RunKey): string {
  if (!outcome) return 'To do'
  if ('error' in outcome) {
    const { [outcome.error as keyof typeof PROBLEMS]: problem } = PROBLEMS
    return `${outcome.error === 'nothing_to_ask' ? 'Not asked' : 'Nothing done'}: ${problem?.title ?? outcome.error}`
  }
  const done = DONE[outcome.verdict]
  if (done) return done
  const verdict = VERDICTS[outcome.verdict] ?? outcome.verdict
  return `${verdict}, ${outcome.settled ? 'settled' : 'nothing changed'}`
}
