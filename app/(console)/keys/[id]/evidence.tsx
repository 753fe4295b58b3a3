'use client'
// What was asked for, what we have and what the provider has, side by side. What differs is marked; what nobody fetched
// is said to be so.
import clsx from 'clsx'
import { EqualNotIcon } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import {
  type Cell,
  type Compared,
  type ComparedField,
  compare,
  type Seen,
} from '../../../../lib/console/key-story-evidence'
import { Section } from '../../../_ui/section'
import { Table, Td, Th } from '../../../_ui/table'
import { Instant } from '../../../_ui/time'
import { amount, count, money } from '../../../_ui/words'
import type { Offer } from './_words/offers'
import { ExactInstant } from './exact-instant'
import { useLearned } from './key-context'
import { Unmask } from './unmask'

interface EvidenceProps {
  compared: Compared
  /** As it is stored; who has just asked sees what they were told. */
  seen: Seen | null
  unmask: Offer
}

export function Evidence({ compared, seen: stored, unmask }: EvidenceProps) {
  const [{ seen: asked }] = useLearned()
  const seen = asked && (!stored || Date.parse(asked.at) >= Date.parse(stored.at)) ? asked : stored
  const fields = compare(compared, seen)
  const differing = fields.filter(({ differs }) => differs)
  return (
    <Section
      title="Evidence"
      note={
        <>
          {seen
            ? `${count(differing.length)} of ${count(fields.length)} fields differ`
            : 'The provider’s object was not fetched'}
          {seen && (
            <span className="wide:hidden">
              . <SeenWords seen={seen} />.
            </span>
          )}
        </>
      }
      aside={<Unmask id={compared.record.id} offer={unmask} />}
    >
      <Wide fields={fields} seen={seen} />
      <Narrow fields={fields} />
    </Section>
  )
}

const SOURCES: Record<Seen['source'], string> = {
  look_up: 'fetched',
  webhook: 'reported',
  late_owner: 'answered late',
  owner: 'answered',
  operator: 'as an operator said',
}

const SeenWords = ({ seen }: { seen: Seen }) => (
  <>
    {SOURCES[seen.source]} <Instant at={seen.at} />
  </>
)

function Wide({ fields, seen }: { fields: ComparedField[]; seen: Seen | null }) {
  return (
    <Table aria-label="Evidence" className="table-fixed max-wide:hidden">
      <thead>
        <tr>
          <Th className="w-[18%] pl-3">
            <span className="sr-only">Field</span>
          </Th>
          <Th className="w-[20%]">Request</Th>
          <Th className="w-[30%]">Our record and ledger</Th>
          <Th>
            Provider’s object <span className="font-normal">{seen ? <SeenWords seen={seen} /> : 'not fetched'}</span>
          </Th>
        </tr>
      </thead>
      <tbody>
        {fields.map((field) => (
          <tr key={field.name} className={field.differs ? 'bg-selected' : undefined}>
            <th
              scope="row"
              className={clsx(
                'border-b border-line py-1.5 pl-3 text-left',
                field.differs ? 'font-semibold' : 'font-normal text-text-2',
              )}
            >
              <FieldName field={field} />
            </th>
            <ValueTd cell={field.request} strong={false} />
            <ValueTd cell={field.ours} strong={field.differs} />
            <ValueTd cell={field.provider} strong={field.differs} remark={field.remark} />
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

const FieldName = ({ field }: { field: ComparedField }) => (
  <span className="flex items-center gap-2">
    {field.differs ? (
      <EqualNotIcon size={14} aria-label="Differs:" className="shrink-0" />
    ) : (
      <span className="w-3.5 shrink-0" />
    )}
    {field.name}
  </span>
)

interface ValueProps {
  cell: Cell
  strong: boolean
  remark?: ComparedField['remark']
}

const ValueTd = (props: ValueProps) => (
  <Td className="[overflow-wrap:anywhere]">
    <Value {...props} />
  </Td>
)

function Value({ cell, strong, remark = null }: ValueProps) {
  return (
    <>
      <span className={clsx(strong && cell.kind !== 'nothing' && 'font-semibold')}>
        <Shown cell={cell} />
      </span>
      {remark && <span className="ml-2 text-text-2">{remarkWords(remark)}</span>}
    </>
  )
}

function remarkWords(remark: NonNullable<ComparedField['remark']>): string {
  if (typeof remark === 'string') return remark
  const { moreCents, currency } = remark
  return `${money(Math.abs(moreCents), currency).slice(currency.length + 1)} ${moreCents > 0 ? 'more' : 'less'}`
}

function Shown({ cell }: { cell: Cell }): ReactNode {
  switch (cell.kind) {
    case 'text':
      return <span className="font-mono text-12">{cell.text}</span>
    case 'word':
      return cell.word
    case 'money':
      return money(cell.cents, cell.currency)
    case 'instant':
      return <ExactInstant at={cell.at} />
    case 'items':
      return cell.items.map(({ sku, quantity, unitPriceCents }) => (
        <span key={sku} className="block">
          {count(quantity)} × {sku} at {amount(unitPriceCents)}
        </span>
      ))
    case 'masked':
      return <Masked field={cell.field} />
    case 'nothing':
      return <span className="text-text-2">{cell.why}</span>
  }
}

function Masked({ field }: { field: string }) {
  const [{ request }] = useLearned()
  const body = request?.body as Record<string, unknown> | undefined
  if (body) return <span className="font-mono text-12">{String(body[field])}</span>
  return (
    <span>
      <span aria-hidden>••••••</span>
      <span className="sr-only">masked</span>
    </span>
  )
}

/** What differs, in full; the rest is a touch away. */
function Narrow({ fields }: { fields: ComparedField[] }) {
  const differing = fields.filter(({ differs }) => differs)
  const others = fields.filter(({ differs }) => !differs)
  const [all, setAll] = useState(differing.length === 0)
  return (
    <div className="wide:hidden">
      {[...differing, ...(all ? others : [])].map((field) => (
        <div key={field.name} className={clsx('-mx-2 border-t border-line px-2 py-2', field.differs && 'bg-selected')}>
          <p className={field.differs ? 'font-semibold' : 'text-text-2'}>
            <FieldName field={field} />
          </p>
          <dl className="grid grid-cols-[76px_minmax(0,1fr)] gap-x-2 pl-5.5 [overflow-wrap:anywhere]">
            <dt className="text-text-2">Request</dt>
            <dd>
              <Value cell={field.request} strong={false} />
            </dd>
            <dt className="text-text-2">Ours</dt>
            <dd>
              <Value cell={field.ours} strong={field.differs} />
            </dd>
            <dt className="text-text-2">Provider</dt>
            <dd>
              <Value cell={field.provider} strong={field.differs} remark={field.remark} />
            </dd>
          </dl>
        </div>
      ))}
      {!all && (
        <p className="border-t border-line pt-2 text-text-2">
          <button type="button" className="cursor-pointer underline underline-offset-3" onClick={() => setAll(true)}>
            {count(others.length)} other fields
          </button>
          : {others.map(({ name }) => name.toLowerCase()).join(', ')}.
        </p>
      )}
    </div>
  )
}
