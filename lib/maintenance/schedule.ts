// When each daemon runs, over all nodes: each interval, and sooner when something is due. Every worker node looks; the
// one that moves a daemon's time on is the one that runs it. A node that dies in between delays a daemon by one interval and no more.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'
import { log } from '../log'
import type { Daemon, DaemonKind } from './daemon'
import { failDeadRuns, forgetIdleRuns, startRun } from './runs'

export interface Scheduled {
  daemon: Daemon
  /** 0: only when a person asks. */
  intervalMs: number
  /** A condition in SQL, for work that clients wait for: where it holds, the daemon does not wait for its interval. */
  due?: Sql
}

/** The schedule is looked at this often, or at the shortest interval if that is less. */
const LONGEST_LOOK_MS = 1000
const SHORTEST_LOOK_MS = 50
/** Between two runs of what is due: one node's run, not one of each node. */
const DUE_PAUSE_MS = 500

export interface Schedule {
  /** Ends when the runs under way have ended the batch that they are in. */
  stop(): Promise<void>
}

export function startSchedule(store: Store, nodeId: string, scheduled: readonly Scheduled[]): Schedule {
  const active = scheduled.filter(({ intervalMs }) => intervalMs > 0)
  const running = new Map<DaemonKind, Promise<unknown>>()
  const shortest = Math.min(LONGEST_LOOK_MS, ...active.map(({ intervalMs }) => intervalMs))
  const stopping = new AbortController()
  let looking: Promise<void> | null = null

  async function look(): Promise<void> {
    for (const { daemon, intervalMs, due } of active) {
      // Longer than its interval: the next one waits. Another node may run it meanwhile, and shares the work.
      if (stopping.signal.aborted || running.has(daemon.kind)) continue
      if (!(await takeTurn(store, daemon.kind, intervalMs, due))) continue
      const request = { dryRun: false, scheduled: true, requestedBy: nodeId, reason: null }
      const { ended } = await startRun(store, daemon, request, stopping.signal)
      running.set(
        daemon.kind,
        ended.finally(() => running.delete(daemon.kind)),
      )
      if (daemon.kind === 'reaper') await Promise.all([failDeadRuns(store), forgetIdleRuns(store)])
    }
  }

  const timer = setInterval(
    () => {
      looking ??= look()
        .catch((error) => log().warn({ err: error }, 'the schedule could not be read'))
        .finally(() => {
          looking = null
        })
    },
    Math.max(SHORTEST_LOOK_MS, shortest),
  )
  timer.unref()

  return {
    async stop() {
      stopping.abort()
      clearInterval(timer)
      await looking
      await Promise.allSettled(running.values())
    },
  }
}

/** True for one node each interval, or when something is due. A shorter interval than the one before takes effect at once. */
export async function takeTurn(
  store: Store,
  kind: DaemonKind | 'metrics',
  intervalMs: number,
  due: Sql = sql`false`,
): Promise<boolean> {
  const rows = await store.query(sql`
    INSERT INTO schedules AS s (kind, next_run_at, last_run_at)
    VALUES (${kind}, clock_timestamp() + ${intervalMs}::float8 * interval '1 ms', clock_timestamp())
    ON CONFLICT (kind) DO UPDATE SET next_run_at = excluded.next_run_at, last_run_at = excluded.last_run_at
    WHERE least(s.next_run_at, s.last_run_at + ${intervalMs}::float8 * interval '1 ms') <= clock_timestamp()
      OR s.last_run_at <= clock_timestamp() - ${DUE_PAUSE_MS}::float8 * interval '1 ms' AND (${due})
    RETURNING kind`)
  return rows.length > 0
}
