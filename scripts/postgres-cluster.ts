// One PostgreSQL server on one folder: `postgres/` (its data), `postgres.json` (how to connect) and `postgres.log`.
// A folder `postgres` is always a finished cluster whose password is in postgres.json; who calls keeps two processes
// from opening one folder at the same time.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './port'
import { type ServerAccount, serverAccount } from './postgres-account'
import { type Binaries, findBinaries, withoutPgVariables } from './postgres-binaries'
import { createDatabase, withClient } from './postgres-client'
import { run } from './run.mjs'

const USER = 'onceover'
const DATABASE = 'onceover'
// Crash recovery after a kill takes seconds on a disk that is not overwhelmed; past this something else is wrong.
const READY_SECONDS = 60
const PORT_ATTEMPTS = 5
/** It sorts alike on every machine and needs nothing of the operating system. */
const BUILTIN_LOCALE = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

type StopMode = 'smart' | 'fast' | 'immediate'
export type Settings = Readonly<Record<string, string | number>>

interface Facts {
  url: string
  host: string
  port: number
  user: string
  password: string
  database: string
}

export interface Cluster {
  readonly url: string
  urlOf(database: string): string
  /** Starts the server, or finds it running; on its former port wherever that is free. */
  start(): Promise<void>
  stop(options?: { mode?: StopMode }): Promise<void>
}

export async function openCluster(folder: string, settings: Settings = {}, programs?: Binaries): Promise<Cluster> {
  const binaries = programs ?? (await findBinaries())
  const data = path.join(folder, 'postgres')
  await mkdir(folder, { recursive: true })
  const account = serverAccount({ data, folder, program: binaries.pg_ctl })
  await discardHalfMade(folder)
  if (!existsSync(data)) await create(folder, data, binaries, account)
  let facts = await readFacts(folder)

  const pgCtl = (step: string, ...args: string[]) => {
    const { command, args: all, options } = account.command(binaries.pg_ctl, [...args, '-D', data, '-w'])
    return run(step, command, all, { ...options, env: withoutPgVariables() })
  }

  async function start() {
    const port = (await findRunning(data, facts)) ?? (await launch())
    // Written only when it changed: root on an ordinary user's checkout must leave that user's file alone.
    if (port !== facts.port) facts = await writeFacts(folder, { ...facts, port })
    await createDatabase(urlOf(facts, 'postgres'), facts.database)
  }

  async function launch(): Promise<number> {
    const log = path.join(folder, 'postgres.log')
    await (await open(log, 'a', 0o600)).close()
    await account.own(log)
    for (let attempt = 1; ; attempt++) {
      const port = await freePort(attempt === 1 ? facts.port : 0)
      const options = Object.entries({ ...settings, listen_addresses: '127.0.0.1', unix_socket_directories: '', port })
      const flags = options.map(([name, value]) => `-c ${name}=${value}`).join(' ')
      try {
        await pgCtl('starting PostgreSQL', 'start', '-l', log, '-t', String(READY_SECONDS), '-o', flags)
        return port
      } catch (error) {
        const reason = await lastFatal(log)
        // Somebody else may have taken the port since it was found free.
        const portTaken = /could not create any TCP\/IP sockets/.test(reason)
        if (!portTaken || attempt === PORT_ATTEMPTS)
          throw new Error(`PostgreSQL did not start: ${reason} (see ${log})`, { cause: error })
      }
    }
  }

  const cluster: Cluster = {
    get url() {
      return facts.url
    },
    urlOf: (database) => urlOf(facts, database),
    start,
    async stop({ mode = 'fast' } = {}) {
      if (await postmasterOf(data)) await pgCtl('stopping PostgreSQL', 'stop', '-m', mode)
    },
  }
  await cluster.start()
  return cluster
}

// Made beside its final place and renamed, with the password written down before: whenever this is cut short, the
// next start begins again and finds nothing half-made under the final name.
async function create(folder: string, data: string, binaries: Binaries, account: ServerAccount): Promise<void> {
  const draft = await mkdtemp(path.join(folder, 'postgres.new-'))
  await account.own(draft)
  const password = randomBytes(24).toString('base64url')
  const passwordFile = path.join(draft, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  await account.own(passwordFile)
  const locale = ['--encoding=UTF8', ...(binaries.locale ?? BUILTIN_LOCALE)]
  const access = [`--username=${USER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  const made = path.join(draft, 'data')
  const { command, args, options } = account.command(binaries.initdb, [`--pgdata=${made}`, ...locale, ...access])
  await run('initdb', command, args, { ...options, env: withoutPgVariables() })
  await writeFacts(folder, { url: '', host: '127.0.0.1', port: 0, user: USER, password, database: DATABASE })
  await rename(made, data)
  await rm(draft, { recursive: true, force: true })
}

async function lastFatal(log: string): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '')
  return /.*(?:FATAL|PANIC): +(.*)/.exec(text.split('\n').reverse().join('\n'))?.[1] ?? 'no reason was logged'
}

async function discardHalfMade(folder: string): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => name.startsWith('postgres.new-'))
  for (const name of drafts) await rm(path.join(folder, name), { recursive: true, force: true })
}

const factsFile = (folder: string) => path.join(folder, 'postgres.json')

async function readFacts(folder: string): Promise<Facts> {
  const text = await readFile(factsFile(folder), 'utf8').catch(() => {
    throw new Error(
      `${factsFile(folder)} with the database's password is gone; restore it, or remove ${folder} to start empty.`,
    )
  })
  return JSON.parse(text)
}

async function writeFacts(folder: string, facts: Facts): Promise<Facts> {
  const complete = { ...facts, url: urlOf(facts, facts.database) }
  const draft = `${factsFile(folder)}.new`
  await writeFile(draft, `${JSON.stringify(complete, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, factsFile(folder))
  return complete
}

function urlOf({ user, password, host, port }: Facts, database: string): string {
  return `postgresql://${user}:${password}@${host}:${port}/${database}`
}

/** The port of the server that runs on this data, once it answers; undefined when there is none. */
async function findRunning(data: string, facts: Facts): Promise<number | undefined> {
  for (const deadline = Date.now() + READY_SECONDS * 1000; ; await sleep(50)) {
    const postmaster = await postmasterOf(data)
    if (!postmaster) return undefined
    try {
      await withClient(urlOf({ ...facts, port: postmaster.port }, 'postgres'), (client) => client.query('SELECT 1'))
      return postmaster.port
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`the PostgreSQL in ${data} (process ${postmaster.pid}) does not answer.`, { cause: error })
    }
  }
}

async function postmasterOf(data: string): Promise<{ pid: number; port: number } | undefined> {
  const file = path.join(data, 'postmaster.pid')
  const lines = await readFile(file, 'utf8').then(
    (text) => text.split('\n'),
    () => undefined,
  )
  const pid = Number(lines?.[0])
  if (!lines || !pid) return undefined
  if (!isAlive(pid)) return undefined
  // After a reboot, or in a new container, the number may be some other program's, or that of a dead one which nobody
  // collected. PostgreSQL would take either for a rival and refuse to start.
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '(postgres) S')
  if (!/\(postgres\) [^Z]/.test(status)) {
    await rm(file, { force: true })
    return undefined
  }
  return { pid, port: Number(lines[3]) }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
