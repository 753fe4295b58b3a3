// A step of the set-up run as a child process: silent while it goes well, its whole output shown when it fails, and
// ended with us when we are asked to stop.
import { spawn } from 'node:child_process'

class StepFailed extends Error {
  constructor(step, how, output) {
    super(`${step} failed (${how}).`)
    this.name = 'StepFailed'
    this.output = output.trim()
  }
}

export function run(step, command, args, { signal, ...options } = {}) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    let output = ''
    const collect = (chunk) => {
      output += chunk
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    const stop = () => child.kill('SIGTERM')
    signal?.addEventListener('abort', stop)
    child.on('error', (error) => {
      signal?.removeEventListener('abort', stop)
      reject(new StepFailed(step, error.message, output))
    })
    child.on('close', (code, killedBy) => {
      signal?.removeEventListener('abort', stop)
      if (signal?.aborted) reject(signal.reason)
      else if (code === 0) resolve(output)
      else reject(new StepFailed(step, killedBy ?? `exit code ${code}`, output))
    })
  })
}
