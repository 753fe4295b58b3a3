// What the documentation shows, as it stands there: the blocks of code below each heading, and a shell that runs them
// as a reader would paste them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..', '..')
const READY = /Onceover is ready at (http:\/\/localhost:\d+)/

export interface Block {
  doc: string
  /** The nearest one above. */
  heading: string
  language: string
  text: string
}

export const readDoc = (doc: string): string => readFileSync(path.join(root, doc), 'utf8')

/** Every page that people read, by its path. */
export function docs(): string[] {
  const below = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  return ['README.md', ...below.filter((name) => name.endsWith('.md')).map((name) => path.posix.join('docs', name))]
}

export function blocksOf(doc: string, text = readDoc(doc)): Block[] {
  const blocks: Block[] = []
  let heading = ''
  for (const [, title, language, code] of text.matchAll(/^#+ ([^\n]*)$|^```(\w*)\n(.*?)^```$/gms))
    if (title !== undefined) heading = title
    else blocks.push({ doc, heading, language: language!, text: code! })
  return blocks
}

/** The commands below a heading: whoever takes them runs all of them, also one that is written there tomorrow. */
export function commandsUnder(doc: string, heading: string): string[] {
  const found = blocksOf(doc).filter((block) => block.heading === heading && block.language === 'sh')
  if (found.length === 0) throw new Error(`${doc} has no commands under "${heading}"`)
  return found.map(({ text }) => text)
}

export type Environment = Record<string, string>

function bash(script: string, env: Environment): ChildProcess {
  const { HOME = '', PATH = '' } = process.env
  return spawn('bash', ['-c', `set -euo pipefail\n${script}`], {
    cwd: root,
    // Only what a shell needs and what the reader was told to set: the tests' own settings are none of theirs.
    env: {
      HOME,
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${PATH}`,
      NODE_ENV: 'production',
      ...env,
    } as unknown as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
}

function outputOf(shell: ChildProcess): () => string {
  let output = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream?.on('data', (chunk) => {
      output += chunk
    })
  return () => output
}

export interface Pasted {
  code: number
  output: string
  /** What the shell printed last, for whoever wants to know why it ended. */
  tail: string
}

/** All blocks in one shell, which ends at the first command that fails. */
export async function paste(blocks: readonly string[], env: Environment): Promise<Pasted> {
  const shell = bash(blocks.join('\n'), env)
  const output = outputOf(shell)
  const [code] = await once(shell, 'close')
  return { code, output: output(), tail: code === 0 ? '' : output().slice(-2000) }
}

export interface Served {
  url: string
  output(): string
  stop(): Promise<void>
}

/** A block whose last command serves, until it is stopped as with Ctrl-C. */
export async function pasteAndServe(block: string, env: Environment): Promise<Served> {
  const shell = bash(block, env)
  const output = outputOf(shell)
  const ended = once(shell, 'close')
  const url = await new Promise<string>((resolve, reject) => {
    ended.then(([code]) => reject(new Error(`it ended with ${code}:\n${output()}`)))
    shell.stdout?.on('data', () => {
      const [, found] = READY.exec(output()) ?? []
      if (found) resolve(found)
    })
  })
  return {
    url,
    output,
    async stop() {
      process.kill(-(shell.pid as number), 'SIGINT')
      await ended
    },
  }
}
