// A clean copy of the working tree, uncommitted files included, and `npm start` in it as a person would type it. The
// folder is mode 0700, as `mktemp -d` makes it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { guard } from './postgres'

const root = path.resolve(import.meta.dirname, '..', '..')
const MADE = new Set(['node_modules', '.next', '.data', '.git', path.join('lib', 'db', 'generated')])
const NPM_START = ['npm', 'start']
const URL_LINE = /http:\/\/localhost:\d+/

export interface Start {
  url: string
  output(): string
  readyMs: number
  /** What Ctrl-C in a terminal does, or the loss of power: everything in the foreground gets the signal. */
  signalAll(signal: NodeJS.Signals): Promise<void>
  /** What `kill` of the command that was typed does: it alone gets the signal. */
  signalCommand(signal: NodeJS.Signals): Promise<void>
}

// Git knows best what belongs to a clone. Where the tests run from an unpacked archive, it is all that was not made here.
function sources(): string[] {
  try {
    const args = ['ls-files', '-co', '--exclude-standard', '-z']
    const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).split('\0')
    return listed.filter((name) => name && existsSync(path.join(root, name)))
  } catch {
    return readdirSync(root).filter((name) => !MADE.has(name))
  }
}

export class Checkout {
  private readonly started: ChildProcess[] = []
  private constructor(
    readonly folder: string,
    private readonly clearAway: () => void,
  ) {}

  static async copy(): Promise<Checkout> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-clone-'))
    for (const name of sources())
      await cp(path.join(root, name), path.join(folder, name), {
        recursive: true,
        filter: (file) => !MADE.has(path.relative(root, file)),
      })
    return new Checkout(folder, guard(path.join(folder, '.data')))
  }

  /** The same, installed and built: with this checkout's packages, a copy of its client and a copy of its build. */
  static async copyBuilt(): Promise<Checkout> {
    const checkout = await Checkout.copy()
    await symlink(path.join(root, 'node_modules'), checkout.path('node_modules'))
    for (const made of ['.next', path.join('lib', 'db', 'generated')])
      await cp(path.join(root, made), checkout.path(made), { recursive: true })
    return checkout
  }

  path(...names: string[]): string {
    return path.join(this.folder, ...names)
  }

  databaseRuns(): boolean {
    return existsSync(this.path('.data', 'postgres', 'postmaster.pid'))
  }

  /** Every process that runs a program of this folder, or on its data. */
  processes(): string[] {
    const all = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' }).split('\n')
    return all.filter((line) => line.includes(this.folder) && !line.includes('stop-when-orphaned'))
  }

  /** Runs the command with nothing in the environment but what is given. */
  run(
    env: Record<string, string>,
    [program, ...args] = NPM_START,
  ): { output(): string; exit: Promise<number | null>; child: ChildProcess } {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(program!, args, {
      cwd: this.folder,
      env: { PATH, HOME, ...env } as unknown as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.started.push(child)
    let output = ''
    const read = (chunk: Buffer) => {
      output += chunk
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    return { child, output: () => output, exit: once(child, 'exit').then(([code]) => code) }
  }

  async start(env: Record<string, string>, command = NPM_START): Promise<Start> {
    const begunAt = performance.now()
    const { child, output, exit } = this.run(env, command)
    const url = await new Promise<string>((resolve, reject) => {
      exit.then((code) => reject(new Error(`${command.join(' ')} ended with ${code}:\n${output()}`)))
      child.stdout?.on('data', () => {
        const [found] = URL_LINE.exec(output()) ?? []
        if (found) resolve(found)
      })
    })
    const readyMs = performance.now() - begunAt
    const send = async (pid: number, signal: NodeJS.Signals) => {
      process.kill(pid, signal)
      await exit
    }
    const pid = child.pid as number
    return { url, output, readyMs, signalAll: (s) => send(-pid, s), signalCommand: (s) => send(pid, s) }
  }

  async remove(): Promise<void> {
    for (const { pid } of this.started)
      try {
        process.kill(-(pid as number), 'SIGKILL')
      } catch {
        // Gone already, as it should be.
      }
    this.clearAway()
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  }
}
