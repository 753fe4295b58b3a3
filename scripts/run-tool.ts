// A development tool of node_modules, run as a child process with our terminal. Resolves with its exit code,
// or rejects when we are asked to stop.
import { spawn } from 'node:child_process'
import path from 'node:path'

export interface Tool {
  root: string
  /** Its program, below node_modules. */
  program: string
  args: readonly string[]
  stopping: AbortSignal
  env?: Record<string, string>
}

export function runTool({ root, program, args, stopping, env = {} }: Tool): Promise<number> {
  stopping.throwIfAborted()
  const child = spawn(process.execPath, [path.join(root, 'node_modules', program), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  })
  // A terminal's Ctrl-C reaches the child by itself; a signal sent to us alone does not.
  const stop = () => child.kill('SIGINT')
  stopping.addEventListener('abort', stop)
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => (stopping.aborted ? reject(stopping.reason) : resolve(code ?? 1)))
  }).finally(() => stopping.removeEventListener('abort', stop))
}
