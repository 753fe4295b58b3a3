// The runs that this node works on because somebody asked: those of daemons, and bulk runs, also such that another node
// left behind. When the node stops, a daemon's run ends with its batch and a bulk run is handed over.
import { newUlid } from '../db/id'
import type { Store } from '../db/store'
import { log } from '../log'
import { type BulkActions, workOffBulkRun } from './bulk'
import type { Daemon, DaemonKind } from './daemon'
import { findRun, type Run, type RunRequest, startRun } from './runs'
import { takeUpRun } from './worked-run'

/** Who asked is answered by then, with the run as it is. */
const ANSWER_AFTER_MS = 10_000
/** How soon a run that was handed over goes on. */
const LOOK_MS = 1000

export interface Runner {
  /** The run when it has ended, or as it is when the patience of who asked is over. */
  run(which: DaemonKind | Daemon<'traffic'>, request: RunRequest, patienceMs?: number): Promise<Run>
  /** Makes a bulk run that names a worker here, and begins to work it off. */
  begin(make: (worker: string) => Promise<Run>): Promise<Run>
  /** From now on, takes up bulk runs that nobody works on. */
  resume(): void
  stop(): Promise<void>
}

export interface RunnerOptions {
  store: Store
  nodeId: string
  daemons: readonly Daemon[]
  bulk: BulkActions
  answerAfterMs?: number
}

export function openRunner(options: RunnerOptions): Runner {
  const { store, nodeId, bulk: actions, answerAfterMs = ANSWER_AFTER_MS } = options
  const daemons = new Map(options.daemons.map((daemon) => [daemon.kind, daemon]))
  const stopping = new AbortController()
  const underWay = new Set<Promise<unknown>>()
  let looking: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined

  function follow<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    return work.finally(() => underWay.delete(work))
  }

  // A name for each run that is taken up: this node may have lost one, and be the one that takes it up again.
  const newWorker = () => `${nodeId}/${newUlid()}`

  function workOff(runId: string, worker: string): void {
    void follow(workOffBulkRun({ store, runId, worker, actions, stopping: stopping.signal }))
  }

  async function look(): Promise<void> {
    const worker = newWorker()
    const runId = stopping.signal.aborted ? null : await takeUpRun(store, 'bulk', worker)
    if (runId) workOff(runId, worker)
  }

  return {
    async run(which, request, patienceMs = answerAfterMs) {
      const daemon = typeof which === 'string' ? daemons.get(which)! : which
      const { run, ended } = await startRun(store, daemon, request, stopping.signal)
      const patience = timeLimit(patienceMs)
      const last = await Promise.race([follow(ended), patience.over]).finally(patience.clear)
      return last ?? (await findRun(store, run.id)) ?? run
    },
    async begin(make) {
      const worker = newWorker()
      const run = await make(worker)
      workOff(run.id, worker)
      return run
    },
    resume() {
      timer ??= setInterval(() => {
        looking ??= look()
          .catch((error) => log().warn({ err: error }, 'runs to take up could not be looked for'))
          .finally(() => {
            looking = null
          })
      }, LOOK_MS).unref()
    },
    async stop() {
      stopping.abort()
      clearInterval(timer)
      await looking
      await Promise.allSettled(underWay)
    },
  }
}

function timeLimit(ms: number): { over: Promise<null>; clear(): void } {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null)
  })
  return { over, clear: () => clearTimeout(timer) }
}
