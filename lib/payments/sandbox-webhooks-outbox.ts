// What the sandbox has still to report. An entry's report commits with the entry itself and stays until it was taken
// in; exactly one for each entry, however often its booking is repeated.

import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import sql, { type Sql } from 'sql-template-tag'
import type { EffectKind } from './gateway'
import type { EntryStatus } from './sandbox-ledger'

/** Longer than a delivery may take. A node that dies with a report in its hands delays it by no more. */
const HOLD_MS = 30_000
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 300_000

/**
 * A booking that also leaves its report, due so long after the entry is there. The report's id is made from the
 * entry's ref, so that a repeated booking finds the first one; where an attempt booked a late entry early, it moves.
 */
export function withReport(booking: Sql, delayMs: number): Sql {
  return sql`
    WITH booked AS (${booking}),
    reported AS (
      INSERT INTO sandbox.events AS e (id, charge_ref, due_at)
      SELECT 'evt_' || ref, ref, booked_at + ${delayMs}::float8 * interval '1 millisecond' FROM booked
      ON CONFLICT (id) DO UPDATE SET due_at = least(e.due_at, excluded.due_at)
      WHERE e.delivered_at IS NULL AND e.attempts = 0
    )
    SELECT * FROM booked`
}

export interface DueReport {
  id: string
  ref: string
  providerKey: string
  kind: EffectKind
  status: EntryStatus
  amountCents: number
  currency: string
  orderId: string
  customerId: string
  bookedAt: Date
  /** By the database's clock, which is the sandbox's own. */
  takenAt: Date
}

/** The longest due first; what another node has in its hands is its own. Taken means: due again after the hold. */
export async function takeDueReports(pool: Pool, limit: number): Promise<DueReport[]> {
  const { rows } = await pool.query<Omit<DueReport, 'amountCents'> & { amountCents: string }>(sql`
    WITH due AS MATERIALIZED (
      SELECT id FROM sandbox.events WHERE delivered_at IS NULL AND due_at <= clock_timestamp()
      ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    UPDATE sandbox.events e SET
      attempts = e.attempts + 1, due_at = clock_timestamp() + ${HOLD_MS}::float8 * interval '1 millisecond'
    FROM due, sandbox.charges c
    WHERE e.id = due.id AND c.ref = e.charge_ref
    RETURNING e.id, c.ref, c.provider_key AS "providerKey", c.kind, c.status, c.amount_cents AS "amountCents",
      c.currency, c.order_id AS "orderId", c.customer_id AS "customerId", c.booked_at AS "bookedAt",
      clock_timestamp() AS "takenAt"`)
  return rows.map((row) => ({ ...row, amountCents: Number(row.amountCents) }))
}

export async function markDelivered(pool: Pool, id: string): Promise<void> {
  await pool.query(sql`UPDATE sandbox.events SET delivered_at = clock_timestamp() WHERE id = ${id}`)
}

/** Later and later; never for good. */
export async function putOffReport(pool: Pool, id: string): Promise<void> {
  await pool.query(sql`
    UPDATE sandbox.events SET due_at = clock_timestamp() + least(
      ${FIRST_PAUSE_MS}::float8 * power(2, least(attempts - 1, 30)), ${LONGEST_PAUSE_MS}::float8) * interval '1 millisecond'
    WHERE id = ${id} AND delivered_at IS NULL`)
}

/** Made by the first who asks; nodes that ask at once are all given the one that was stored. */
export async function storedWebhookSecret(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ value: string }>(sql`
    INSERT INTO sandbox.secrets AS s (name, value) VALUES ('webhook', ${`whsec_${randomBytes(24).toString('base64url')}`})
    ON CONFLICT (name) DO UPDATE SET value = s.value
    RETURNING value`)
  return rows[0]!.value
}
