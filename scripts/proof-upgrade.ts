// `npm run proof:upgrade [-- ref]`: nodes of an older commit and nodes of this tree on one database, for real. The old ones
// are installed, built and started from a worktree of their own; the new ones migrate under their traffic; every key is
// sent to both, and one old node is killed midway. Ends with 1 unless each order was charged once and answered alike.
// Takes several minutes, and needs the git history and the npm registry.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Answer, createClient, freshKey, orderBody, SECRETS } from '../test/support/client'
import { startNode } from '../test/support/node'
import { startThrowawayPostgres } from '../test/support/postgres'
import { ensureBuild } from './build'
import { createDatabase } from './postgres-client'

const root = path.resolve(import.meta.dirname, '..')
const git = async (...args: string[]) => (await promisify(execFile)('git', args, { cwd: root })).stdout.trim()
const CLIENTS = 4
/** The nodes that start have to get a turn, too. */
const BETWEEN_KEYS_MS = 50
const QUIET_MS = 4000
const BESIDE_MS = 10_000
const FINAL_WITHIN_MS = 60_000
const METHODS = ['pm_ok', 'pm_ok', 'pm_ok', 'pm_declined', 'pm_refused_once', 'pm_timeout_charged', 'pm_slow_300']
const ENV = {
  ...SECRETS,
  // Whoever calls twice charges twice.
  SANDBOX_IDEMPOTENT: 'false',
  GATEWAY_TIMEOUT_MS: '1000',
  LEASE_SECONDS: '4',
  SETTLE_SECONDS: '2',
  SWEEP_INTERVAL_SECONDS: '0.5',
  RECONCILE_INTERVAL_SECONDS: '0.5',
}

interface Sent {
  key: string
  body: ReturnType<typeof orderBody>
  /** Every final answer that anybody got, as bytes. */
  finals: Set<string>
}

const ref = process.argv[2] ?? (await git('rev-list', '--max-parents=0', 'HEAD').catch(() => ''))
const commit = await git('rev-parse', '--short', `${ref.split('\n')[0]}^{commit}`).catch(() => '')
if (!commit) {
  console.error(
    ref ? `There is no commit ${ref} here.` : 'There is no git history here, and so no older release to start.',
  )
  process.exit(2)
}
const folder = path.join(await mkdtemp(path.join(os.tmpdir(), 'onceover-older-')), 'tree')
const server = await startThrowawayPostgres({ max_connections: 300 })
const ending: (() => Promise<unknown>)[] = []
const rows: [string, string | number][] = [['older release', commit]]
try {
  await prove()
} finally {
  for (const end of ending.reverse()) await end()
  await server.remove()
  await git('worktree', 'remove', '--force', folder).catch(() => {})
  await rm(path.dirname(folder), { recursive: true, force: true })
}

async function prove(): Promise<void> {
  await prepareOld()
  await createDatabase(server.urlOf('postgres'), 'upgrade')
  const url = server.urlOf('upgrade')
  const old = [await startOld(url), await startOld(url)]
  const urls = old.map((node) => node.url)
  const sent: Sent[] = []
  const statuses = new Map<string, number>()
  let going = true
  const count = (answer: string) => statuses.set(answer, (statuses.get(answer) ?? 0) + 1)

  async function send(to: string, request: Sent): Promise<Answer | null> {
    const version = old.some((node) => node.url === to) ? 'old' : 'new'
    const answer = await createClient(to)
      .order(request.key, request.body)
      .catch(() => null)
    count(`${version} ${answer?.status ?? 'no answer'}`)
    if (answer && [201, 402].includes(answer.status)) request.finals.add(`${answer.status} ${answer.bytes}`)
    return answer
  }
  // Each client sends one key to every node that there is, at once, and goes on to the next.
  const client = async () => {
    for (let i = 0; going; i++) {
      const body = orderBody({ paymentMethod: METHODS[(sent.length + i) % METHODS.length] })
      const request: Sent = { key: freshKey(), body, finals: new Set() }
      sent.push(request)
      await Promise.all(urls.map((to) => send(to, request)))
      await pause(BETWEEN_KEYS_MS)
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, client))
  await pause(QUIET_MS)
  const before = sent.length
  const startedAt = performance.now()
  const fresh = await Promise.all([1, 2].map(() => startNode({ databaseUrl: url, env: ENV })))
  ending.push(...fresh.map((node) => () => node.stop()))
  rows.push(['keys before the upgrade', before], ['keys while it migrated', sent.length - before])
  rows.push(['new nodes ready after', `${Math.round(performance.now() - startedAt)} ms`])
  const beside = sent.length
  urls.push(...fresh.map((node) => node.url))
  await pause(BESIDE_MS / 2)
  rows.push(['old node is ready, on the newer schema', (await fetch(`${urls[0]}/api/ready`)).status])
  await old[1]!.kill()
  urls.splice(1, 1)
  await pause(BESIDE_MS / 2)
  going = false
  await clients
  rows.push(['keys at old and new at once', sent.length - beside])

  const unsettled = await settleAll(sent, urls, send)
  await report(url, sent, statuses, unsettled)
  if (process.exitCode) for (const node of fresh) console.error(node.output())
}

async function settleAll(sent: Sent[], urls: string[], send: (to: string, request: Sent) => Promise<Answer | null>) {
  const giveUpAt = performance.now() + FINAL_WITHIN_MS
  const open = new Set(sent)
  while (open.size && performance.now() < giveUpAt) {
    for (const request of open) {
      const answers = await Promise.all(urls.map((to) => send(to, request)))
      if (answers.every((answer) => answer && [201, 402].includes(answer.status))) open.delete(request)
    }
    if (open.size) await pause(500)
  }
  return open.size
}

async function report(url: string, sent: Sent[], statuses: Map<string, number>, unsettled: number): Promise<void> {
  const db = new pg.Client(url)
  await db.connect()
  const countOf = async (text: string) => Number((await db.query(text)).rows[0].count)
  const faults: [string, number][] = [
    [
      'orders charged twice',
      await countOf(`SELECT count(*) FROM (SELECT order_id FROM sandbox.charges
      WHERE status = 'succeeded' AND kind = 'charge' GROUP BY order_id HAVING count(*) > 1) twice`),
    ],
    [
      'answers without their one ledger row',
      await countOf(`SELECT count(*) FROM (SELECT r.id FROM idempotency_records r
      LEFT JOIN ledger_entries l ON l.record_id = r.id WHERE r.state = 'completed' GROUP BY r.id HAVING count(l.id) <> 1) odd`),
    ],
    ['discrepancies', await countOf('SELECT count(*) FROM discrepancies')],
    ['keys with two different final answers', sent.filter(({ finals }) => finals.size > 1).length],
    ['keys without a final answer', unsettled],
    ['answers 500', [...statuses].filter(([answer]) => answer.endsWith(' 500')).reduce((sum, [, n]) => sum + n, 0)],
  ]
  await db.end()
  rows.push(['keys', sent.length], ...[...statuses].sort(), ...faults)
  for (const [name, value] of rows) console.log(`${name.padEnd(40)} ${value}`)
  if (faults.some(([, number]) => number > 0)) process.exitCode = 1
}

async function prepareOld(): Promise<void> {
  await git('worktree', 'add', '--detach', folder, commit)
  const npm = async (...args: string[]) => promisify(execFile)('npm', args, { cwd: folder, maxBuffer: 64 << 20 })
  console.log(`Installing and building ${commit}…`)
  await npm('ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline')
  await npm('run', 'build')
  // What is measured is a start, not a build.
  await ensureBuild({ root, say: console.log })
}

async function startOld(databaseUrl: string): Promise<{ url: string; kill(): Promise<void> }> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [path.join(folder, 'scripts', 'start.mjs')], {
    cwd: folder,
    env: { PATH, HOME, DATABASE_URL: databaseUrl, PORT: '0', ...ENV } as unknown as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  ending.push(kill)
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    exited.then(([code]) => reject(new Error(`the older node ended with ${code}:\n${output}`)))
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk
      const [found] = /http:\/\/localhost:\d+/.exec(output) ?? []
      if (found) resolve(found)
    })
  })
  return { url, kill }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
