// What does not fit together: both sides, the key that it is about, and the way to close it.
import Link from 'next/link'
import type { Discrepancy } from '../../../lib/console/discrepancies'
import { Instant } from '../../_ui/time'
import { discrepancyWords } from './_words/discrepancy'
import { CloseButton } from './close-button'

interface DiscrepancyListProps {
  discrepancies: readonly Discrepancy[]
  /** Why this reader may not close any; null where they may. */
  forbidden: string | null
  /** On the key's own page there is no need to name it. */
  ofKey?: boolean
}

export function DiscrepancyList({ discrepancies, forbidden, ofKey = false }: DiscrepancyListProps) {
  return (
    <ul aria-label="Discrepancies" className="list-none border-t border-line">
      {discrepancies.map((discrepancy) => (
        <Row key={discrepancy.id} discrepancy={discrepancy} forbidden={forbidden} ofKey={ofKey} />
      ))}
    </ul>
  )
}

function Row({
  discrepancy,
  forbidden,
  ofKey,
}: {
  discrepancy: Discrepancy
  forbidden: string | null
  ofKey: boolean
}) {
  const { id, recordId, createdAt, closedAt, closedBy, reason } = discrepancy
  const { title, sentence, ours, provider, ref } = discrepancyWords(discrepancy)
  return (
    <li className="grid gap-x-6 gap-y-2 border-b border-line py-3 wide:grid-cols-[minmax(0,1fr)_minmax(0,220px)_minmax(0,220px)_auto]">
      <div className="min-w-0 [overflow-wrap:anywhere]">
        <p className="font-semibold">{title}</p>
        <p className="text-text-2">{sentence}</p>
        <p className="mt-1 text-12 text-text-2">
          found <Instant at={createdAt} />
          {recordId && !ofKey && (
            <>
              {', '}
              <Link href={`/keys/${recordId}`}>its key</Link>
            </>
          )}
          {closedAt && (
            <>
              . Closed <Instant at={closedAt} /> by {closedBy?.name ?? 'somebody'}
              {reason && `: “${reason}”`}
            </>
          )}
        </p>
      </div>
      <Side name="Ours" words={ours} />
      <Side name="Provider" words={provider} reference={ref} />
      <div className="wide:self-start">
        {!closedAt && <CloseButton id={id} title={title} sentence={sentence} forbidden={forbidden} />}
      </div>
    </li>
  )
}

function Side({ name, words, reference }: { name: string; words: string | null; reference?: string | null }) {
  return (
    <div className="min-w-0 max-wide:grid max-wide:grid-cols-[76px_minmax(0,1fr)]">
      <p className="text-12 text-text-2">{name}</p>
      <div className="[overflow-wrap:anywhere]">
        <p>{words ?? 'nothing'}</p>
        {reference && <p className="font-mono text-12 text-text-2">{reference}</p>}
      </div>
    </div>
  )
}
