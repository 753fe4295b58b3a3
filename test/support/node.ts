// A real node: the built app in a process of its own, started and stopped as an operator would. It is ready when it
// has printed its URL, and it ends with the test process, however that ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..', '..')
const URL_LINE = /http:\/\/localhost:\d+/
// Room for a machine that runs other tests at the same time; alone, a node takes two seconds.
const READY_LIMIT_MS = 60_000
// From the caller's environment only what a process needs to run at all: a node's settings are the test's own.
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ']

export interface NodeOptions {
  databaseUrl: string
  env?: Record<string, string>
  port?: number
}

export interface TestNode {
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
  const child = spawn(process.execPath, [path.join(root, 'scripts', 'start.mjs')], {
    cwd: root,
    env: { ...Object.fromEntries(passedOn), DATABASE_URL: databaseUrl, PORT: String(port), ...env },
    // The channel is never written to; that it closes tells the node that we are gone.
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
  return {
    url,
    pid: child.pid as number,
    output: () => output,
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
