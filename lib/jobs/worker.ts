// The only loop: the job engine, on its own connections. The engine gives up for good where its database is away at the
// wrong moment: when it first asks what it may run, when the end of a job is to be written down, or for long enough. So
// whatever ends it, or leaves it without an answer for a while, it is begun anew.
import { EventEmitter } from 'node:events'
import { Logger, type Runner, run, runMigrations, type TaskList, type WorkerEvents } from 'graphile-worker'
import { openPool } from '../db/store'
import { log } from '../log'

/** Jobs mostly wait for the provider. */
const CONCURRENCY = 10
/** Of all workers together, each of which asks every two seconds: a restart of the database is over by then. */
const UNANSWERED_IN_A_ROW = 3 * CONCURRENCY
const BEGIN_ANEW_AFTER_MS = 1000
const FORMER_PATIENCE_MS = 5000

// Without it the engine writes down the end of a job and does not look whether it could: a rejection that nobody handles.
const preset = { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } }

// The engine's own lines go where ours go; what is a line an event there is debugging here.
const logger = new Logger(() => (level, message, meta) => {
  // Under this name an error is written with its message and stack.
  const { error, ...rest } = meta ?? {}
  const line = error === undefined ? rest : { ...rest, err: error }
  if (level === 'error') log().error(line, message)
  else if (level === 'warning') log().warn(line, message)
  else log().debug(line, message)
})

export const migrateJobs = (url: string): Promise<void> => runMigrations({ connectionString: url, logger })

export async function startWorker(url: string, taskList: TaskList): Promise<{ stop(): Promise<void> }> {
  const pool = openPool(url, { max: CONCURRENCY + 2, applicationName: 'onceover-jobs' })
  let stopping = false
  let current: Runner | null = null
  /** Those that were given up: their last jobs may still run, beside those of the next. */
  let formerEnded: Promise<unknown> = Promise.resolve()

  async function begin(): Promise<void> {
    const events: WorkerEvents = new EventEmitter()
    const runner = await run({
      pgPool: pool,
      taskList,
      concurrency: CONCURRENCY,
      noHandleSignals: true,
      logger,
      events,
      preset,
    })
    current = runner
    givenUp(runner, events).then((why) => {
      if (stopping) return
      log().error({ err: why }, 'the job worker gave up and is begun anew')
      current = null
      formerEnded = Promise.all([formerEnded, ended(runner)])
      beginAnew()
    })
    if (stopping) await ended(runner)
  }
  function beginAnew(): void {
    if (stopping) return
    setTimeout(() => {
      if (!stopping) begin().catch(beginAnew)
    }, BEGIN_ANEW_AFTER_MS).unref()
  }

  await begin()
  return {
    async stop() {
      stopping = true
      if (current) await ended(current)
      // The end of one that was given up may never come.
      const allEnded = formerEnded.then(() => pool.end()).catch(() => {})
      await Promise.race([allEnded, new Promise((resolve) => setTimeout(resolve, FORMER_PATIENCE_MS).unref())])
    },
  }
}

/** Throws for one that has ended by itself. */
const ended = (runner: Runner): Promise<void> => runner.stop().catch(() => {})

function givenUp(runner: Runner, events: WorkerEvents): Promise<unknown> {
  return new Promise((resolve) => {
    let unanswered = 0
    const answered = () => {
      unanswered = 0
    }
    events.on('worker:getJob:empty', answered)
    events.on('job:start', answered)
    events.on('worker:getJob:error', ({ error }) => {
      if (++unanswered >= UNANSWERED_IN_A_ROW) resolve(error)
    })
    // Its end itself may never come: it waits for ever for the ends of more than a few jobs that could not be written.
    events.on('pool:gracefulShutdown', ({ message }) => resolve(message))
    runner.promise.then(() => resolve('it ended by itself'), resolve)
  })
}
