// What a comparison could not judge: the provider had not decided yet, or the record was still being worked on. It is kept,
// and every comparison judges it again until it can.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import type { EffectKind, Gateway } from '../payments/gateway'
import { isOurs, type OurEntry } from './ledger-comparison-provider'

const PAGE = 500

/** Kept again, it is the same one. */
export async function keepForRevisit(store: Store, entries: readonly OurEntry[]): Promise<void> {
  if (entries.length === 0) return
  await store.query(sql`
    INSERT INTO ledger_revisits (ref, kind, status, provider_key, order_id, amount_cents, currency, created_at)
    SELECT * FROM unnest(
      ${entries.map(({ ref }) => ref)}::text[], ${entries.map(({ kind }) => kind)}::ledger_kind[],
      ${entries.map(({ status }) => status)}::text[], ${entries.map(({ providerKey }) => providerKey)}::text[],
      ${entries.map(({ orderId }) => orderId)}::text[], ${entries.map(({ amountCents }) => amountCents)}::bigint[],
      ${entries.map(({ currency }) => currency)}::text[], ${entries.map(({ createdAt }) => createdAt)}::timestamptz[])
    ON CONFLICT (ref) DO NOTHING`)
}

export async function forgetRevisits(store: Store, refs: readonly string[]): Promise<void> {
  if (refs.length > 0) await store.query(sql`DELETE FROM ledger_revisits WHERE ref = ANY(${[...refs]}::text[])`)
}

export interface Revisited {
  /** To be judged now. */
  entries: OurEntry[]
  /** Decided otherwise, or gone: nothing is left to judge. */
  over: string[]
}

/** In pages, as they are by now: what was pending is asked for. Those that still are, or can't be asked about, stay. */
export async function* revisits(store: Store, gateway: Gateway): AsyncIterable<Revisited> {
  let after = ''
  for (;;) {
    const rows = await store.query<Omit<OurEntry, 'amountCents'> & { kind: EffectKind; amountCents: string }>(sql`
      SELECT ref, kind, status, provider_key AS "providerKey", order_id AS "orderId", amount_cents AS "amountCents",
        currency, created_at AS "createdAt"
      FROM ledger_revisits WHERE ref > ${after} ORDER BY ref LIMIT ${PAGE}::int`)
    const page: Revisited = { entries: [], over: [] }
    for (const row of rows) {
      const kept: OurEntry = { ...row, amountCents: Number(row.amountCents) }
      const now = kept.status === 'pending' ? await gateway.findByRef(kept.kind, kept.ref) : kept
      if (now === 'unreachable' || now?.status === 'pending') continue
      if (now && isOurs(now)) page.entries.push(now)
      else page.over.push(kept.ref)
    }
    yield page
    if (rows.length < PAGE) return
    after = rows.at(-1)!.ref
  }
}
