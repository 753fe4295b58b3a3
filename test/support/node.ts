// A real node: the built app in a process of its own, started and stopped as an operator would. It is ready when it
// has printed its URL, and it ends with the test process, however that ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import path from 'node:path'
import type { Step } from '../../lib/idempotency/boundary'

const root = path.resolve(import.meta.dirname, '..', '..')
const URL_LINE = /http:\/\/localhost:\d+/
// Room for a build on a machine that runs other tests at the same time; alone and built, a node takes two seconds.
const READY_LIMIT_MS = 180_000
// From the caller's environment only what a process needs to run at all: a node's settings are the test's own.
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ']

/** A node whose attempts can be held between two steps. */
export const HOLDABLE = { NODE_ENV: 'test' }

export interface NodeOptions {
  databaseUrl: string
  env?: Record<string, string>
  port?: number
}

/** Of a node that was started with HOLDABLE. */
interface Holding {
  /** From now on everybody who comes to this step is held there. */
  hold(step: Step): Promise<void>
  /** Waits until so many have been held since the last call of `hold`. */
  held(count?: number): Promise<void>
  /** Lets go of all that is held, and holds nobody at a step any more. */
  release(): Promise<void>
  /** Holds only this request, with all that is done in its name, when it comes to the step for the `pass`th time. */
  holdRequest(requestId: string, step: Step, pass?: number): Promise<void>
  heldRequest(requestId: string): Promise<void>
  letGo(requestId: string): Promise<void>
  /** From now on it tells which steps it passes. */
  tellSteps(): Promise<void>
  /** What it told of one request so far, in order. */
  told(requestId: string): Told[]
}

export interface TestNode extends Holding {
  url: string
  pid: number
  /** All that it has printed. */
  output(): string
  /** Asks it to end and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** Ends it as a power cut would. */
  kill(): Promise<void>
}

export async function startNode({ databaseUrl, env = {}, port = 0 }: NodeOptions): Promise<TestNode> {
  const passedOn = PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  const fastPath = process.env.TEST_FAST_PATH ? { FAST_PATH: process.env.TEST_FAST_PATH } : {}
  const child = spawn(process.execPath, commandOf(port, env), {
    cwd: root,
    env: { ...Object.fromEntries(passedOn), ...fastPath, DATABASE_URL: databaseUrl, PORT: String(port), ...env },
    // That it closes tells the node that we are gone.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  let output = ''
  let limit: NodeJS.Timeout | undefined
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk
      const [found] = URL_LINE.exec(output) ?? []
      if (found) resolve(found)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    const fail = (why: string) => reject(new Error(`The node ${why}:\n${output}`))
    exited.then((code) => fail(`ended with ${code}`))
    limit = setTimeout(() => {
      child.kill('SIGKILL')
      fail(`was not ready after ${READY_LIMIT_MS} ms`)
    }, READY_LIMIT_MS)
  }).finally(() => clearTimeout(limit))
  const { status } = await fetch(`${url}/api/health`)
  if (status !== 200) throw new Error(`The node answers its health check with ${status}:\n${output}`)
  const holding = openHolding(child)
  return {
    url,
    pid: child.pid as number,
    output: () => output,
    ...holding,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** By `npm start`; or by Next's own server, which the same tests are run against (`npm run proof -- next`). */
function commandOf(port: number, env: Record<string, string>): string[] {
  if (env.NODE_ENV === HOLDABLE.NODE_ENV) return [path.join(root, 'test', 'support', 'held-node.mjs')]
  if (process.env.TEST_SERVER !== 'next') return [path.join(root, 'scripts', 'start.mjs')]
  return [path.join(root, 'node_modules', 'next', 'dist', 'bin', 'next'), 'start', '--port', String(port)]
}

/** What a node tells of itself: steps are told once they were asked for, statements where they are (statements.mjs). */
export type Told = { requestId: string } & ({ step: Step } | { statement: string; pool: string })
type Message = { held: Step; requestId: string } | { obeyed: true } | Told

/** The other end of step-hook.ts. */
function openHolding(child: ChildProcess): Holding {
  const news = new EventEmitter().setMaxListeners(0)
  const told: Told[] = []
  const heldRequests = new Set<string>()
  let count = 0
  child.on('message', (message: Message) => {
    if ('held' in message) {
      heldRequests.add(message.requestId)
      news.emit('held', ++count)
    } else if ('requestId' in message) told.push(message)
    else news.emit('obeyed')
  })
  // One after the other: what is obeyed is then always the one that was sent.
  let last: Promise<unknown> = Promise.resolve()
  function order(message: object): Promise<void> {
    const obeyed = last.then(async () => {
      const obeyed = once(news, 'obeyed')
      child.send(message)
      await obeyed
    })
    last = obeyed.catch(() => {})
    return obeyed
  }
  return {
    async hold(step) {
      count = 0
      await order({ holdAt: step })
    },
    async held(wanted = 1) {
      while (count < wanted) await once(news, 'held')
    },
    release: () => order({ holdAt: null }),
    async holdRequest(requestId, step, pass = 1) {
      heldRequests.delete(requestId)
      await order({ hold: { requestId, step, pass } })
    },
    async heldRequest(requestId) {
      while (!heldRequests.has(requestId)) await once(news, 'held')
    },
    letGo: (requestId) => order({ letGo: requestId }),
    tellSteps: () => order({ tellSteps: true }),
    told: (requestId) => told.filter((one) => one.requestId === requestId),
  }
}
