// One node, from configuration to the last answer. Whatever was started here is stopped here, in reverse order, however
// the node ends; nothing is started before the configuration is known to be good.
import path from 'node:path'
import nextEnv from '@next/env'
import { type Config, parseConfig } from '../lib/config'
import type { Boundary } from '../lib/idempotency/boundary'
import { handOverStepHook } from '../lib/node/step-hook'
import { answerUntilStopped, runningNode } from './answer'
import { ensureBuild, ensureClient, type Task } from './build'
import { joinEmbedded } from './embedded-postgres'
import { checkPort } from './http-server'
import type { Lock } from './lock.mjs'
import { applyMigrations } from './migrations'

export interface ServeContext {
  root: string
  dev: boolean
  /** Of tests: holds an attempt between two steps. */
  step?: Boundary['step']
  say: (line: string) => void
  startLock: Lock
  stopping: AbortSignal
  hurrying: AbortSignal
}

export async function serve(context: ServeContext): Promise<number> {
  const { root, dev, say, stopping } = context
  if (context.step) handOverStepHook(context.step, process.env.NODE_ENV)
  Object.assign(process.env, { NODE_ENV: dev ? 'development' : 'production' })
  // Next would read .env files too, but only after the configuration was checked.
  nextEnv.loadEnvConfig(root, dev, { info: () => {}, error: console.error })
  const config = parseConfig(process.env)
  if (!config.portIsAny) await checkPort(config.port)

  const embedded = config.databaseUrl ? undefined : await joinEmbedded(path.join(root, '.data'), { signal: stopping })
  try {
    if (embedded) Object.assign(process.env, { DATABASE_URL: embedded.url, DIRECT_DATABASE_URL: embedded.url })
    await applyMigrations(root, embedded?.url ?? (config.directDatabaseUrl as string), stopping)
    const task: Task = { root, say, signal: stopping }
    await (dev ? ensureClient(task) : ensureBuild(task))
    await context.startLock.release()

    await answer(context, config)
    return context.hurrying.aborted ? context.hurrying.reason.exitCode : 0
  } finally {
    await embedded?.release()
  }
}

async function answer(context: ServeContext, config: Config): Promise<void> {
  const { port, portIsAny, leaseMs } = config
  const onReady = (found: number) => {
    if (port !== 0 && found !== port) context.say(`Port ${port} is taken; using ${found}.`)
    process.env.PORT = String(found)
    const url = `http://localhost:${found}`
    process.stdout.write(runningNode()?.welcome(url) ?? `Onceover listens on ${url}\n`)
  }
  await answerUntilStopped({ ...context, port, orNext: portIsAny, drainMs: leaseMs, onReady })
}
