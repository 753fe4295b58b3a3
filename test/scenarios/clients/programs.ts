// The retry set-ups of /docs as programs: each file is written out as the page shows it, and called with one order. Where
// a runtime is not installed, the requests that the file describes are sent without it.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exampleText, RETRIES, type Retry } from '../../../app/docs/_examples/text'
import { API_KEY, type OrderRequest, type OrderView } from '../../support/client'

export interface Sent {
  url: string
  key: string
  request: OrderRequest
}

export interface Ended {
  /** 0: it has its order. */
  code: number | null
  order: OrderView | null
  output: string
  seconds: number
}

export interface Program {
  name: Retry
  /** False: its runtime is not installed. */
  isRun: boolean
}

const CALL = 'place_order(os.environ["KEY"], json.loads(os.environ["ORDER"]))'
const JAVA_MAIN = `class Main {
  public static void main(String[] args) throws Exception {
    System.out.println(Onceover.placeOrder(System.getenv("KEY"), System.getenv("ORDER")));
  }
}`

const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

/** Debian's modules are its own Python's, which need not be the first one. */
const pythonWith = (module: string): string | undefined =>
  ['python3', '/usr/bin/python3'].find((python) => runs(python, '-c', `import ${module}`))

const hasJava = runs('javac', '--version') && runs('java', '--version')

/** Null where the runtime is not installed. */
function commandOf(name: Retry): [string, ...string[]] | null {
  const file = path.basename(name)
  const base = file.replace(/\.\w+$/, '')
  switch (path.extname(name)) {
    case '.sh':
      return ['bash', file]
    case '.mjs': {
      const call = 'placeOrder(process.env.KEY, JSON.parse(process.env.ORDER))'
      const script = `const { placeOrder } = await import('./${file}'); console.log(JSON.stringify(await ${call}))`
      return [process.execPath, '--input-type=module', '-e', script]
    }
    case '.py': {
      const python = pythonWith(base.replace('onceover_', ''))
      return python
        ? [python, '-c', `import json, os; from ${base} import place_order; print(json.dumps(${CALL}))`]
        : null
    }
    default:
      return hasJava ? ['java', '-cp', '.', 'Main'] : null
  }
}

const COMMANDS = new Map(RETRIES.map((name) => [name, commandOf(name)]))
export const PROGRAMS: readonly Program[] = RETRIES.map((name) => ({ name, isRun: COMMANDS.get(name) !== null }))

const TRY_LIMIT = /(max-time |request: |timeout: |headersTimeout: |ofSeconds\(|timeout=)30(_000)?\b/g

/** The file as it is shown, with another time-out for each try where one is given. */
function textOf(name: Retry, trySeconds: number): string {
  const text = exampleText(name)
  const found = text.match(TRY_LIMIT) ?? []
  if (found.length !== 1) throw new Error(`${name} has ${found.length} time-outs of a try`)
  return text.replace(TRY_LIMIT, (_, option, ms = '') => `${option}${trySeconds}${ms}`)
}

export interface Folder {
  run(name: Retry, sent: Sent): Promise<Ended>
  remove(): void
}

export function openFolder({ trySeconds = 30 } = {}): Folder {
  const folder = mkdtempSync(path.join(tmpdir(), 'onceover-clients-'))
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text)
  for (const name of RETRIES) write(path.basename(name), textOf(name, trySeconds))
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'))
  write('Main.java', JAVA_MAIN)
  if (hasJava) execFileSync('javac', ['Main.java'], { cwd: folder })
  return {
    async run(name, sent) {
      const command = COMMANDS.get(name)
      const began = performance.now()
      const ended = await (command ? runProgram(folder, command, sent) : sendRaw(textOf(name, trySeconds), sent))
      return { ...ended, seconds: Math.round((performance.now() - began) / 100) / 10 }
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
}

async function runProgram(folder: string, [file, ...args]: [string, ...string[]], { url, key, request }: Sent) {
  const child = spawn(file, args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      ONCEOVER_URL: url,
      ONCEOVER_API_KEY: API_KEY,
      KEY: key,
      ORDER: JSON.stringify(request),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  const answer = code === 0 && file === 'bash' ? readFileSync(path.join(folder, 'answer.json'), 'utf8') : stdout
  return { code, order: code === 0 ? (JSON.parse(answer) as OrderView) : null, output: stdout + stderr }
}

/** With the headers and the time-out that the text names, and the rule that all of the texts have. */
async function sendRaw(text: string, { url, key, request }: Sent) {
  for (const header of ['Authorization', 'Idempotency-Key']) if (!text.includes(header)) throw new Error(`no ${header}`)
  const prefer = /wait=\d+, busy=503/.exec(text)![0]
  const [limit] = text.match(TRY_LIMIT) ?? ['1']
  const timeoutMs = Number(/\d+$/.exec(limit)![0]) * 1000
  const headers = {
    authorization: `Bearer ${API_KEY}`,
    'idempotency-key': key,
    prefer,
    'content-type': 'application/json',
  }
  for (const giveUpAt = performance.now() + 300_000; performance.now() < giveUpAt; ) {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(`${url}/api/orders`, { method: 'POST', headers, body: JSON.stringify(request), signal })
      .then(async (response) => ({ response, body: await response.text() }))
      .catch(() => null)
    const status = answer?.response.status ?? 0
    if (status === 201) return { code: 0, order: JSON.parse(answer!.body) as OrderView, output: '' }
    if (status >= 400 && status < 500 && status !== 429) return { code: 1, order: null, output: answer!.body }
    const afterSeconds = Number(answer?.response.headers.get('retry-after') ?? 1)
    await new Promise((resolve) => setTimeout(resolve, afterSeconds * 1000))
  }
  return { code: 1, order: null, output: 'no final answer' }
}
