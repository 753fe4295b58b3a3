// After a restore (RESTORED_FROM) the provider still has what was done since the backup. Once for each restore, one node
// at a time lists it: from the backup on, and until no call of a lost record can be under way any more. How far it is
// commits with what it found, so another node goes on from there. Until it is done, no attempt begins.
import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { newId, newUlid } from '../db/id'
import type { Store } from '../db/store'
import { log } from '../log'
import type { Counts } from '../maintenance/daemon'
import { beat, handOver, takeUpRun } from '../maintenance/worked-run'
import type { CreatedPage, Gateway } from '../payments/gateway'
import { withRequestId } from '../request-context'
import { CLOCK_MARGIN_MS } from './ledger-comparison-window'
import type { Fence } from './lost-effects'

/** How soon a run that another node has handed over goes on here, and how often the end of the window is looked at. */
const LOOK_MS = 1000
/** Nothing new begins before it is done, so a dead worker is noticed sooner than one of other runs. */
const DEAD_AFTER_MS = 10_000

interface Restore {
  store: Store
  gateway: Gateway
  nodeId: string
  /** How long after the first start a call of a lost record may still arrive. */
  settledAfterMs: number
  fence: Fence
}

/** On every node, whoever is first. It ends by itself when all is listed. */
export function startRestore(restore: Restore): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const working = untilListed(restore, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await working
    },
  }
}

async function untilListed(restore: Restore, stopping: AbortSignal): Promise<void> {
  const { store, fence, nodeId } = restore
  while (!stopping.aborted) {
    try {
      if ((await fence.listedInMs()) === 0) return
      const runId = await openRun(restore)
      const worker = `${nodeId}/${newUlid()}`
      if (await takeUpRun(store, 'restore', worker, { runId, deadAfterMs: DEAD_AFTER_MS }))
        await withRequestId(runId, () => workOff(restore, { runId, worker }, stopping))
    } catch (error) {
      log().warn({ err: error }, 'what was done since the backup could not be listed; trying again')
    }
    await pause(LOOK_MS, stopping)
  }
}

const pause = (ms: number, stopping: AbortSignal): Promise<unknown> =>
  sleep(ms, undefined, { signal: stopping }).catch(() => {})

/** There is one for each instant that a database was restored from. */
async function openRun({ store, nodeId, settledAfterMs, fence }: Restore): Promise<string> {
  const { restoredFrom } = fence
  await store.query(sql`
    WITH opened AS (
      INSERT INTO restores (restored_from, run_id, ends_at, read_until)
      VALUES (${restoredFrom}, ${newId('run')}, clock_timestamp() + ${settledAfterMs}::float8 * interval '1 ms',
        ${new Date(restoredFrom.getTime() - CLOCK_MARGIN_MS)})
      ON CONFLICT (restored_from) DO NOTHING
      RETURNING run_id
    )
    INSERT INTO runs (id, kind, dry_run, scheduled, requested_by, reason, state, counts, sample)
    SELECT run_id, 'restore', false, false, ${nodeId}, ${`RESTORED_FROM=${restoredFrom.toISOString()}`}, 'running', '{}', '{}'
    FROM opened`)
  const [row] = await store.query<{ run_id: string }>(
    sql`SELECT run_id FROM restores WHERE restored_from = ${restoredFrom}`,
  )
  return row!.run_id
}

interface Work {
  runId: string
  worker: string
}

async function workOff(restore: Restore, work: Work, stopping: AbortSignal): Promise<void> {
  const { store } = restore
  const heart = setInterval(() => void beat(store, work.runId, work.worker).catch(() => {}), DEAD_AFTER_MS / 4)
  try {
    while (!stopping.aborted) {
      const read = await readPage(restore, work)
      if (read === 'over') return
      if (read === 'too_early') await pause(LOOK_MS, stopping)
    }
  } finally {
    clearInterval(heart)
    await handOver(store, work.runId, work.worker).catch(() => {})
  }
}

interface Position {
  from: Date
  to: Date
  cursor: string | null
  isLast: boolean
  tooEarly: boolean
  counts: Counts
}

/** A page of the list, and how far it brought us, together. */
async function readPage({ store, gateway, fence }: Restore, work: Work): Promise<'read' | 'too_early' | 'over'> {
  const at = await positionOf(store, fence, work)
  if (!at) return 'over'
  if (at.tooEarly) return 'too_early'
  const page = await gateway.listCreated({ from: at.from, to: at.to }, at.cursor)
  return (await keep(store, fence, work, at, page)) ? 'read' : 'over'
}

/**
 * Null when the run has ended, or is another's. What is older than the clocks of the provider and of the database can
 * differ is read at once; the rest when no call of a lost record can be under way any more, and not before.
 */
async function positionOf(store: Store, { restoredFrom }: Fence, { runId, worker }: Work): Promise<Position | null> {
  const margin = sql`${CLOCK_MARGIN_MS}::float8 * interval '1 ms'`
  const [row] = await store.query<Position>(sql`
    SELECT s.read_until AS "from", w.to, s.cursor, w.to = s.ends_at + ${margin} AS "isLast",
      w.to - s.read_until < ${margin} AS "tooEarly", r.counts
    FROM restores s JOIN runs r ON r.id = s.run_id, (SELECT clock_timestamp() AS at) now,
      LATERAL (SELECT coalesce(s.reading_to,
        CASE WHEN now.at >= s.ends_at THEN s.ends_at + ${margin} ELSE now.at - ${margin} END) AS to) w
    WHERE s.restored_from = ${restoredFrom} AND r.id = ${runId} AND r.state = 'running' AND r.worked_by = ${worker}`)
  return row ?? null
}

/** False when the run is another's by now. Read again, a page changes nothing but what has been decided since. */
async function keep(
  store: Store,
  { restoredFrom }: Fence,
  { runId, worker }: Work,
  at: Position,
  { items, next }: CreatedPage,
): Promise<boolean> {
  const ours = items.filter(({ providerKey }) => providerKey !== null)
  const found = ours.filter((entry) => entry.keyDigest && entry.fingerprint)
  const counts: Counts = {
    listed: (at.counts.listed ?? 0) + items.length,
    keptOfRestore: (at.counts.keptOfRestore ?? 0) + found.length,
    withoutDigest: (at.counts.withoutDigest ?? 0) + ours.length - found.length,
  }
  const ended = next === null && at.isLast
  const rows = await store.query(sql`
    WITH mine AS (
      UPDATE runs SET done = done + ${found.length}::int, counts = ${JSON.stringify(counts)}::jsonb,
        heartbeat_at = clock_timestamp(),
        state = CASE WHEN ${ended}::boolean THEN 'succeeded'::run_state ELSE state END,
        finished_at = CASE WHEN ${ended}::boolean THEN clock_timestamp() END,
        total = CASE WHEN ${ended}::boolean THEN done + ${found.length}::int END
      WHERE id = ${runId} AND state = 'running' AND worked_by = ${worker}
      RETURNING id
    ), kept AS (
      INSERT INTO lost_effects (ref, key_digest, fingerprint, kind, status, order_id, amount_cents, currency, created_at)
      SELECT f.* FROM mine, unnest(
        ${found.map(({ ref }) => ref)}::text[], ${found.map(({ keyDigest }) => keyDigest)}::text[],
        ${found.map(({ fingerprint }) => fingerprint)}::text[], ${found.map(({ kind }) => kind)}::ledger_kind[],
        ${found.map(({ status }) => status)}::text[], ${found.map(({ orderId }) => orderId)}::text[],
        ${found.map(({ amountCents }) => amountCents)}::bigint[], ${found.map(({ currency }) => currency)}::text[],
        ${found.map(({ createdAt }) => createdAt)}::timestamptz[]) f
      ON CONFLICT (ref) DO UPDATE SET status = excluded.status, amount_cents = excluded.amount_cents
    ), moved AS (
      UPDATE restores s SET cursor = ${next}, reading_to = CASE WHEN ${next}::text IS NOT NULL THEN ${at.to}::timestamptz END,
        read_until = CASE WHEN ${next}::text IS NULL THEN ${at.to} ELSE read_until END,
        done_at = CASE WHEN ${ended}::boolean THEN clock_timestamp() END
      FROM mine WHERE s.restored_from = ${restoredFrom}
    )
    SELECT id FROM mine`)
  return rows.length > 0 && !ended
}
