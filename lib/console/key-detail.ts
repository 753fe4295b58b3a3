// Everything about one key, as it is now: the record, how it got there, what it stands for, and what was learned of its
// outcome. Two statements, whatever there is: the record's own, and its order's.
import sql, { raw, type Sql } from 'sql-template-tag'
import { z } from 'zod'
import type { Store } from '../db/store'
import type { Input } from '../idempotency/operation'
import { toRecord } from '../idempotency/record'
import { HAS_EVIDENCE } from '../idempotency/store/event'
import { masked, maskedInput } from '../orders/masking'
import { findOrder } from '../orders/read'
import { Order, Refund } from '../orders/schema'
import { DISCREPANCY_COLUMNS, Discrepancy, type DiscrepancyRow, toDiscrepancy } from './discrepancies'
import { instant } from './instant'
import { MisuseRow } from './misuse'
import { type Next, NextReplay, nextOf } from './next-replay'
import { OPERATOR_COLUMNS, OperatorRecord, type OperatorRow, toOperatorRecord } from './record-view'

const LATEST_MISUSE = 20
/** An order may be refunded cent by cent; nobody reads that here. */
const MOST_LEDGER_ENTRIES = 200
const MOST_EVIDENCE = 200

const TimelineEvent = z
  .looseObject({ at: z.iso.datetime(), event: z.string(), by: z.string() })
  .meta({ id: 'TimelineEvent', description: 'What happened, when, and who did it; with what is known of it' })

const LedgerEntry = z
  .object({
    id: z.string(),
    kind: z.enum(['charge', 'refund']),
    status: z.enum(['succeeded', 'failed']),
    amountCents: z.int(),
    currency: z.string(),
    providerRef: z.string(),
    recordId: z.string().nullable().meta({ description: 'null once that record was deleted' }),
    own: z.boolean().meta({ description: 'Booked for this very record' }),
    reversalOf: z.string().nullable().meta({ description: 'Of a reversing entry: what it takes back' }),
    reversedAt: z.iso.datetime().nullable().meta({ description: 'Since then it does not count' }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'LedgerEntry', description: 'What we booked' })

export const ProviderObject = z
  .object({
    effect: z.enum(['charge', 'refund']).optional(),
    amountCents: z.int(),
    currency: z.string(),
    orderId: z.string().nullish().meta({ description: 'The order that it names, where it names one' }),
    createdAt: z.iso.datetime().optional(),
  })
  .meta({ id: 'ProviderObject', description: 'What the provider’s object says of itself, as it was fetched' })

export const EvidenceView = z
  .object({
    id: z.string(),
    source: z.enum(['owner', 'late_owner', 'look_up', 'webhook', 'operator']),
    verdict: z.enum(['succeeded', 'declined', 'not_found', 'not_executed']),
    ref: z.string().nullable().meta({ description: 'The provider’s reference' }),
    object: ProviderObject.nullable(),
    differs: z.boolean().meta({ description: 'It speaks of other money or another order, and proves nothing' }),
    attempt: z.int(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Evidence', description: 'What was learned of an outcome, and from whom' })

const ClientRequest = z
  .object({ params: z.record(z.string(), z.string()), body: z.unknown() })
  .meta({ id: 'ClientRequest', description: 'What a client asked for: the path’s parameters, and the body' })

export const KeyDetail = z
  .object({
    record: OperatorRecord,
    tenant: z.object({ id: z.string(), name: z.string().nullable(), disabled: z.boolean() }),
    timeline: z.array(TimelineEvent),
    order: Order.nullable().meta({
      description: 'What the key paid for or gives back, as it is now; its note is masked',
    }),
    refund: Refund.nullable().meta({ description: 'Of a refund’s key; its reason is masked' }),
    ledger: z.array(LedgerEntry).meta({ description: 'Of the order, oldest first' }),
    evidence: z.array(EvidenceView),
    discrepancies: z.array(Discrepancy),
    misuse: z.array(MisuseRow).meta({ description: 'The latest 20' }),
    request: ClientRequest.nullable().meta({ description: 'What was asked for, masked; null once it is erased' }),
    nextReplay: NextReplay,
  })
  .meta({ id: 'KeyDetail', description: 'Everything about one key' })
export type KeyDetail = z.infer<typeof KeyDetail>

interface Row extends OperatorRow {
  stored_headers: string | null
  stored_body: string | null
  external: boolean
  has_evidence: boolean
  request: string | null
  timeline: { at?: string; event: string; by?: string }[]
  tenant_name: string | null
  tenant_disabled: boolean
  order_id: string | null
  refund: z.infer<typeof Refund> | null
  ledger: z.infer<typeof LedgerEntry>[]
  evidence: z.infer<typeof EvidenceView>[]
  discrepancies: DiscrepancyRow[]
  misuse: z.infer<typeof MisuseRow>[]
}

/** With what comes next as the boundary would decide it; how that is sent is http's business. */
export async function findKeyDetail(
  store: Store,
  id: string,
): Promise<(Omit<KeyDetail, 'nextReplay'> & { next: Next }) | null> {
  const [row] = await store.query<Row>(detailStatement(id))
  if (!row) return null
  const order = row.order_id === null ? null : await findOrder(store, row.tenant_id, row.order_id)
  const input: Input | null = row.request === null ? null : JSON.parse(row.request)
  return {
    record: toOperatorRecord(row),
    tenant: { id: row.tenant_id, name: row.tenant_name, disabled: row.tenant_disabled },
    timeline: timelineOf(row),
    order: order && { ...order, note: masked(order.note) },
    refund: row.refund && { ...dated(row.refund), reason: masked(row.refund.reason) },
    ledger: row.ledger.map((entry) => ({ ...dated(entry), reversedAt: entry.reversedAt && instant(entry.reversedAt) })),
    evidence: row.evidence.map(dated),
    discrepancies: row.discrepancies.map(toDiscrepancy),
    misuse: row.misuse.map((one) => ({ ...one, at: instant(one.at) })),
    request: input && maskedInput(input),
    next: nextOf({
      record: toRecord({ ...row, response_headers: row.stored_headers, response_body: row.stored_body }),
      external: row.external,
      hasEvidence: row.has_evidence,
      tenantDisabled: row.tenant_disabled,
    }),
  }
}

/** What somebody wrote by hand may say less than we do: it happened no earlier than the event before it. */
function timelineOf({ timeline, created_at }: Pick<Row, 'timeline' | 'created_at'>): KeyDetail['timeline'] {
  let at = instant(created_at)
  return timeline.map((event) => {
    if (event.at !== undefined) at = instant(event.at)
    return { ...event, at, by: event.by ?? 'somebody' }
  })
}

const dated = <T extends { createdAt: string }>(row: T): T => ({ ...row, createdAt: instant(row.createdAt) })

/** A list as JSON: empty where there is nothing. */
const all = (rows: Sql): Sql => sql`(SELECT coalesce(json_agg(x), '[]') FROM (${rows}) x)`

const detailStatement = (id: string): Sql => sql`
  SELECT ${OPERATOR_COLUMNS}, r.response_headers AS stored_headers, r.response_body AS stored_body, r.external,
    ${HAS_EVIDENCE} AS has_evidence, r.request, r.timeline, t.name AS tenant_name,
    t.disabled_at IS NOT NULL AS tenant_disabled, about.order_id,
    (SELECT json_build_object('id', f.id, 'orderId', f.order_id, 'amountCents', f.amount_cents, 'status', f.status,
       -- nodes of the first release wrote it into the ledger only
       'providerRef', coalesce(f.provider_ref, (SELECT l.provider_ref FROM ledger_entries l WHERE l.record_id = r.id AND l.reversal_of IS NULL)),
       'reason', f.reason, 'createdAt', f.created_at)
     FROM refunds f WHERE f.record_id = r.id) AS refund,
    ${all(sql`
      SELECT * FROM (
        SELECT l.id, l.kind, l.status, l.amount_cents AS "amountCents", l.currency, l.provider_ref AS "providerRef",
          l.reversal_of AS "reversalOf", l.reversed_at AS "reversedAt",
          (SELECT k.id FROM idempotency_records k WHERE k.id = l.record_id) AS "recordId", l.record_id IS NOT DISTINCT FROM r.id AS own, l.created_at AS "createdAt"
        FROM ledger_entries l WHERE l.order_id = about.order_id
        ORDER BY own DESC, l.created_at DESC LIMIT ${raw(String(MOST_LEDGER_ENTRIES))}
      ) l ORDER BY "createdAt", id`)} AS ledger,
    ${all(sql`
      SELECT e.id, e.source, e.verdict, e.detail->>'ref' AS ref, e.detail->'shown' AS object, coalesce((e.detail->>'differs')::boolean, false) AS differs, e.attempt, e.created_at AS "createdAt"
      FROM evidence e WHERE e.record_id = r.id ORDER BY e.created_at, e.id LIMIT ${raw(String(MOST_EVIDENCE))}`)} AS evidence,
    ${all(sql`
      SELECT ${DISCREPANCY_COLUMNS} FROM discrepancies d WHERE d.record_id = r.id
      ORDER BY d.created_at DESC, d.id DESC LIMIT ${raw(String(MOST_EVIDENCE))}`)} AS discrepancies,
    ${all(sql`
      SELECT m.id, m.at, m.tenant_id AS "tenantId", m.endpoint, m.key, m.record_id AS "recordId",
        m.changed_paths AS "changedPaths", m.request_id AS "requestId"
      FROM misuse m WHERE m.record_id = r.id ORDER BY m.at DESC, m.id DESC LIMIT ${raw(String(LATEST_MISUSE))}`)} AS misuse
  FROM idempotency_records r LEFT JOIN tenants t ON t.id = r.tenant_id,
    -- a refund that was refused made nothing: what it was asked for still names its order
    LATERAL (SELECT coalesce(
      (SELECT o.id FROM orders o WHERE o.record_id = r.id),
      (SELECT f.order_id FROM refunds f WHERE f.record_id = r.id),
      (SELECT o.id FROM orders o WHERE o.id = r.request::json->'params'->>'id' AND o.tenant_id = r.tenant_id)
    ) AS order_id) about
  WHERE r.id = ${id}`
