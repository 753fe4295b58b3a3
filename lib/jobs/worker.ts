// The only loop: the job engine, on its own connections.
import { Logger, type Runner, run, runMigrations, type TaskList } from 'graphile-worker'
import { openPool } from '../db/store'
import { log } from '../log'

/** Jobs mostly wait for the provider. */
const CONCURRENCY = 10

// The engine's own lines go where ours go; what is a line an event there is debugging here.
const logger = new Logger(() => (level, message, meta) => {
  const line = { ...meta }
  if (level === 'error') log().error(line, message)
  else if (level === 'warning') log().warn(line, message)
  else log().debug(line, message)
})

export const migrateJobs = (url: string): Promise<void> => runMigrations({ connectionString: url, logger })

export async function startWorker(url: string, taskList: TaskList): Promise<{ stop(): Promise<void> }> {
  const pool = openPool(url, { max: CONCURRENCY + 2, applicationName: 'onceover-jobs' })
  const runner: Runner = await run({ pgPool: pool, taskList, concurrency: CONCURRENCY, noHandleSignals: true, logger })
  // A lost database ends the runner's promise; it is asked for below.
  runner.promise.catch((error) => log().error({ err: error }, 'the job worker stopped'))
  return {
    async stop() {
      await runner.stop().catch(() => {})
      await pool.end().catch(() => {})
    },
  }
}
