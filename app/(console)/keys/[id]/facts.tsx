// What the key is about, each with the way to what belongs to it.
import Link from 'next/link'
import type { ReactNode } from 'react'
import type { KeyDetail } from '../../../../lib/console/key-detail'
import { Age } from '../../../_ui/time'
import { count, money } from '../../../_ui/words'
import { amountOf } from './_words/verdict'

export function Facts({ detail }: { detail: KeyDetail }) {
  const { record, tenant, order, refund, ledger } = detail
  const isRefund = record.endpoint.endsWith('/refunds')
  // The order's own key, where its record is still kept.
  const orderKey = isRefund ? ledger.find(({ kind, own }) => kind === 'charge' && !own)?.recordId : null
  return (
    <dl className="grid grid-cols-2 border-b border-line wide:flex wide:flex-wrap">
      <Fact name="Tenant">
        <Link href={`/keys?tenant=${encodeURIComponent(tenant.name ?? tenant.id)}`}>{tenant.name ?? tenant.id}</Link>
        {tenant.disabled && <span className="text-text-2"> disabled</span>}
      </Fact>
      <Fact name="Endpoint" mono>
        {record.endpoint}
      </Fact>
      <Fact name="Order" mono>
        {order ? (
          <Link href={orderKey ? `/keys/${orderKey}` : `/keys?q=${order.id}`} title={order.id}>
            {shortId(order.id)}
          </Link>
        ) : (
          <span className="font-sans text-13">none</span>
        )}
      </Fact>
      {refund && (
        <Fact name="Refund" mono>
          <span title={refund.id}>{shortId(refund.id)}</span>
        </Fact>
      )}
      <Fact name="Amount">{amountOf(detail) ?? '–'}</Fact>
      {order && !isRefund && order.refundedCents > 0 && (
        <Fact name="Refunded">
          <Link href={`/keys?q=${order.id}`}>{money(order.refundedCents, order.currency)}</Link>
        </Fact>
      )}
      <Fact name="Age">
        <Age since={record.createdAt} />
      </Fact>
      <Fact name="Attempt">{record.attempt}</Fact>
      <Fact name="Recovery point" mono>
        {record.recoveryPoint ?? '–'}
      </Fact>
      <Fact name="Replays">{record.replayCount > 0 ? <a href="#timeline">{count(record.replayCount)}</a> : '0'}</Fact>
      <Fact name="Record" mono>
        <span title={record.id}>{shortId(record.id)}</span>
      </Fact>
    </dl>
  )
}

/** The kind and both ends of it: what people read out to each other. */
const shortId = (id: string): string => (id.length > 18 ? `${id.slice(0, 10)}…${id.slice(-4)}` : id)

function Fact({ name, mono = false, children }: { name: string; mono?: boolean; children: ReactNode }) {
  return (
    <div className="min-w-0 border-b border-line py-2.5 pr-4 wide:mr-4 wide:border-r wide:border-b-0 wide:last:mr-0 wide:last:border-r-0 wide:last:pr-0">
      <dt className="text-12 text-text-2">{name}</dt>
      <dd className={mono ? 'font-mono text-12 leading-5 [overflow-wrap:anywhere]' : '[overflow-wrap:anywhere]'}>
        {children}
      </dd>
    </div>
  )
}
