// The README's endpoint is real: its two files are put where it says, compiled with the project's own settings, and
// served by the same route that serves orders.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KeyedRoute } from '../../lib/http/keyed'
import type { AnyOperation, CallVerdict, LookUpVerdict } from '../../lib/idempotency/operation'
import { type Counted, openCounted } from '../metrics/counted'
import { send } from '../metrics/node'
import { blocksOf } from '../support/documented'

const root = path.resolve(import.meta.dirname, '..', '..')
const COMPILED = { timeout: 60_000 }

/** Each block begins with the path of its file. */
const FILES = blocksOf('README.md')
  .filter(({ language }) => language === 'ts')
  .map(({ text }) => ({ name: /^\/\/ (\S+)\n/.exec(text)?.[1] ?? '', text }))

/** What the reader has: a bank that does what the test says, and remembers what it paid. */
const BANK = `import type { CallVerdict, LookUpVerdict } from '../idempotency/operation'
interface Bank {
  pay(key: string, payout: { iban: string; cents: number }): Promise<CallVerdict>
  find(key: string): Promise<LookUpVerdict>
}
export const bank = (globalThis as unknown as { bankOfTheTest: Bank }).bankOfTheTest
`
const paid = new Map<string, string>()
let calls: string[] = []
let answers: (() => CallVerdict)[] = []
Object.assign(globalThis, {
  bankOfTheTest: {
    async pay(key: string): Promise<CallVerdict> {
      calls.push(key)
      paid.set(key, `tr_${paid.size}`)
      return answers.shift()?.() ?? { kind: 'succeeded', ref: paid.get(key)! }
    },
    async find(key: string): Promise<LookUpVerdict> {
      const ref = paid.get(key)
      return ref ? { kind: 'succeeded', ref } : { kind: 'not_found' }
    },
  },
})

let folder: string
let site: Counted
let POST: KeyedRoute
beforeAll(async () => {
  // Below the project, so that packages are found; beside its own rooms, so that imports lead where they would.
  await mkdir(path.join(root, '.data'), { recursive: true })
  folder = await mkdtemp(path.join(root, '.data', 'example-'))
  await mkdir(path.join(folder, 'lib', 'payouts'), { recursive: true })
  for (const room of await readdir(path.join(root, 'lib')))
    await symlink(path.join(root, 'lib', room), path.join(folder, 'lib', room))
  for (const { name, text } of [...FILES, { name: 'lib/payouts/bank.ts', text: BANK }]) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
  const load = (name: string) => import(pathToFileURL(path.join(folder, name)).href)
  ;({ POST } = await load('app/api/payouts/route.ts'))
  const { sendPayout } = (await load('lib/payouts/send-payout.ts')) as { sendPayout: AnyOperation }
  site = await openCounted()
  ;(site.node.operations as Map<string, AnyOperation>).set(sendPayout.endpoint, sendPayout)
})
afterAll(async () => {
  await site?.close()
  await rm(folder, { recursive: true, force: true })
})

/** What the compiler has to say, with the project's own settings. */
async function complaints(files: readonly string[]): Promise<string> {
  const settings = {
    extends: path.join(root, 'tsconfig.json'),
    compilerOptions: { incremental: false },
    include: [],
    exclude: [],
    files,
  }
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc')
  const { stdout } = await promisify(execFile)(tsc, ['--noEmit', '-p', folder]).catch((error) => error)
  return stdout
}

const BODY = { iban: 'DE02120300000000202051', cents: 2500 }
function payout(key: string, body: unknown = BODY): Promise<Response> {
  return send(POST, { apiKey: site.tenant.apiKey, key, body })
}

describe('the README’s example endpoint', () => {
  it('consists of an operation file and a route file', () => {
    expect(FILES.map(({ name }) => name)).toEqual(['lib/payouts/send-payout.ts', 'app/api/payouts/route.ts'])
  })

  it('compiles', COMPILED, async () => {
    expect(await complaints(FILES.map(({ name }) => name))).toBe('')
  })

  it('does not compile without its lookUp', COMPILED, async () => {
    const forgetful = FILES[0]!.text.replace(/^ *lookUp:.*\n/m, '')
    await writeFile(path.join(folder, 'lib/payouts/forgetful.ts'), forgetful)
    expect(await complaints(['lib/payouts/forgetful.ts'])).toContain("Property 'lookUp' is missing")
  })

  it('pays once, and replays its answer byte for byte', async () => {
    calls = []
    const key = randomUUID()
    const first = await payout(key)
    const again = await payout(key)
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await again.text()).toBe(await first.text())
    expect(calls).toHaveLength(1)
  })

  it('refuses another body with the same key, and an invalid body', async () => {
    const key = randomUUID()
    await payout(key)
    expect((await payout(key, { ...BODY, cents: 1 })).status).toBe(422)
    expect((await payout(randomUUID(), { cents: 1 })).status).toBe(400)
  })

  it('does not pay again after a lost answer: the reconciler stores the bank’s outcome', async () => {
    calls = []
    answers = [() => ({ kind: 'unclear', code: 'timeout' })]
    const key = randomUUID()
    expect((await payout(key)).status).toBe(504)
    expect((await payout(key)).status).toBe(409)
    await site.run('reconciler')
    expect((await payout(key)).status).toBe(201)
    expect(calls).toHaveLength(1)
  })

  it('answers 402 to a decline, and retries a payout that was not executed with the same key at the bank', async () => {
    answers = [() => ({ kind: 'declined', ref: 'tr_declined' })]
    expect((await payout(randomUUID())).status).toBe(402)
    calls = []
    paid.clear()
    const key = randomUUID()
    answers = [
      () => {
        paid.clear()
        return { kind: 'not_executed', code: 'connection_refused' }
      },
    ]
    expect((await payout(key)).status).toBe(503)
    expect((await payout(key)).status).toBe(201)
    expect(new Set(calls).size).toBe(1)
    expect(calls).toHaveLength(2)
  })
})
