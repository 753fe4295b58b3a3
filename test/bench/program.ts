// A program that serves, in a process of its own: there once it has printed its URL, and gone with whoever started it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

export const root = path.resolve(import.meta.dirname, '..', '..')
const URL_LINE = /http:\/\/localhost:(\d+)/
/** Room for a build. */
const READY_LIMIT_MS = 240_000
const STOP_LIMIT_MS = 10_000
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ']

export interface Program {
  /** By its address: `localhost` may mean two. */
  url: string
  child: ChildProcess
  stop(): Promise<void>
}

export async function startProgram(args: string[], env: Record<string, string> = {}): Promise<Program> {
  const passedOn = PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...Object.fromEntries(passedOn), NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const exited = once(child, 'exit')
  let output = ''
  let limit: NodeJS.Timeout | undefined
  const port = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      // What it says later is of use only while it starts.
      if (output.length < 100_000) output += chunk
      const found = URL_LINE.exec(output)
      if (found) resolve(found[1]!)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    const fail = (why: string) => {
      child.kill('SIGKILL')
      reject(new Error(`${args.join(' ')} ${why}:\n${output}`))
    }
    exited.then(([code]) => fail(`ended with ${code}`))
    limit = setTimeout(() => fail(`was not ready after ${READY_LIMIT_MS} ms`), READY_LIMIT_MS)
  }).finally(() => clearTimeout(limit))
  return {
    url: `http://127.0.0.1:${port}`,
    child,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
      await exited
      clearTimeout(late)
    },
  }
}
