// Where flows are played: nodes on one database, what the test itself sees of that database, and how fast time passes.
import pg from 'pg'
import { SECRETS } from '../../support/client'
import { HOLDABLE, type TestNode } from '../../support/node'

export const LEASE_MS = 3500
const SETTLE_MS = 1000
export const WEBHOOK_SECRET = 'the webhook secret of the crash matrix'

/** Nobody moves a record on but what is asked for. */
export const STILL = {
  ...SECRETS,
  ...HOLDABLE,
  SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
  GATEWAY_TIMEOUT_MS: '1200',
  LEASE_SECONDS: String(LEASE_MS / 1000),
  SETTLE_SECONDS: String(SETTLE_MS / 1000),
  SWEEP_INTERVAL_SECONDS: '0',
  RECONCILE_INTERVAL_SECONDS: '0',
  REAP_INTERVAL_SECONDS: '0',
  LEDGER_INTERVAL_SECONDS: '0',
}
/** Whoever comes after: it finds out by itself, and takes its time for it, so that no call fails of a busy machine. */
export const FINDING_OUT = {
  ...STILL,
  GATEWAY_TIMEOUT_MS: '2500',
  LEASE_SECONDS: '5.5',
  SWEEP_INTERVAL_SECONDS: '0.25',
  RECONCILE_INTERVAL_SECONDS: '0.25',
}

export interface World {
  /** Takes the requests; runs no jobs. */
  server: TestNode
  /** Runs the jobs. */
  worker(): TestNode
  db: Eyes
}

export interface RecordRow {
  id: string
  state: string
  /** Until a look-up that finds nothing is proof; null before anybody may have called. */
  settlesInMs: number | null
  timeline: { event: string }[]
}

/** What the test sees past every node. */
export interface Eyes {
  record(key: string): Promise<RecordRow | null>
  /** What the provider booked for a record, money or decline. */
  booked(recordId: string): Promise<Booked[]>
  ledger(recordId: string): Promise<string[]>
  /** Until no attempt holds a lease any more. */
  quiet(): Promise<void>
  discrepancies(): Promise<unknown[]>
  close(): Promise<void>
}

export interface Booked {
  ref: string
  kind: 'charge' | 'refund'
  status: 'succeeded' | 'failed'
  providerKey: string
  amountCents: number
  currency: string
  orderId: string
  customerId: string
}

export function openEyes(databaseUrl: string): Eyes {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  pool.on('error', () => {})
  async function ask<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    // A connection of before a restart fails once.
    const asked = await pool.query(text, values).catch(() => pool.query(text, values))
    return asked.rows as Row[]
  }
  return {
    async record(key) {
      const [row] = await ask<RecordRow>(
        `SELECT id, state, timeline, (extract(epoch FROM settles_at - clock_timestamp()) * 1000)::float8 AS "settlesInMs"
         FROM idempotency_records WHERE key = $1`,
        [key],
      )
      return row ?? null
    },
    booked: (recordId) =>
      ask(
        `SELECT ref, kind, status, provider_key AS "providerKey", amount_cents::int AS "amountCents", currency,
           order_id AS "orderId", customer_id AS "customerId"
         FROM sandbox.charges WHERE provider_key = $1`,
        [`onceover-${recordId}`],
      ),
    ledger: async (recordId) =>
      (await ask<{ status: string }>('SELECT status FROM ledger_entries WHERE record_id = $1', [recordId])).map(
        ({ status }) => status,
      ),
    async quiet() {
      const leased = `SELECT 1 FROM idempotency_records WHERE state = 'in_progress' AND locked_until > clock_timestamp()`
      while ((await ask(leased)).length > 0) await new Promise((resolve) => setTimeout(resolve, 100))
    },
    discrepancies: () => ask('SELECT kind, subject, detail FROM discrepancies'),
    close: () => pool.end(),
  }
}
