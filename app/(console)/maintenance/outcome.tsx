// What a run did, against what the dry run before it had counted.
import Link from 'next/link'
import type { RunView } from '../../../lib/maintenance/run-view'
import { Table, Td, Th } from '../../_ui/table'
import { count } from '../../_ui/words'
import { countWord } from './daemon-words'
import { PartEntry } from './progress'
import { difference, partsOf } from './run-words'

export function Outcome({ run }: { run: RunView }) {
  const parts = partsOf(run).filter(({ n }) => n > 0)
  return (
    <>
      {run.previewed && <p className="mt-3">{sentenceOf(run)}</p>}
      {parts.length > 0 && (
        <dl className="mt-3 grid grid-cols-[repeat(auto-fill,minmax(200px,1fr))] items-start gap-x-8 gap-y-3">
          {parts.map((part) => (
            <PartEntry key={part.word} part={part} runId={run.id} />
          ))}
        </dl>
      )}
      <Compared run={run} />
    </>
  )
}

function sentenceOf(run: RunView): string {
  const differs = difference(run)
  if (differs === 'none') return 'As many as the dry run counted.'
  if (run.state !== 'succeeded') return `${differs} than the dry run counted: it did not come to its end.`
  return `${differs} than the dry run counted: traffic went on in between.`
}

/** By name, what the dry run counted beside what happened. */
function Compared({ run }: { run: RunView }) {
  const before = run.previewed?.counts ?? {}
  const names = [...new Set([...Object.keys(before), ...Object.keys(run.counts)])].filter(
    (name) => (before[name] ?? 0) > 0 || (run.counts[name] ?? 0) > 0,
  )
  if (names.length === 0) return <p className="mt-3">There was nothing to do.</p>
  return (
    <Table className="mt-3 max-w-[560px]" aria-label="Preview against what happened">
      <thead>
        <tr>
          <Th>What</Th>
          {run.previewed && <Th number>Previewed</Th>}
          <Th number>Happened</Th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name} className="last:[&>td]:border-b-0">
            <Td>{countWord(name)}</Td>
            {run.previewed && (
              <Td number>
                {name in before ? (
                  <Link href={`/maintenance/runs/${run.previewed.id}`}>{count(before[name]!)}</Link>
                ) : (
                  <span className="text-text-3">–</span>
                )}
              </Td>
            )}
            <Td number>
              <Link href={`/maintenance/runs/${run.id}#keys`}>{count(run.counts[name] ?? 0)}</Link>
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
