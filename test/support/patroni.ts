// Two PostgreSQL servers under Patroni and etcd behind HAProxy, set up as docs/scaling.md says, on loopback and on a
// folder of their own. A server with its Patroni stands for a machine: both are killed at once. Everything ends with the
// process that started it, however that ends.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../../scripts/port'
import { type ServerAccount, serverAccount } from '../../scripts/postgres-account'
import { withoutPgVariables } from '../../scripts/postgres-binaries'
import { createDatabase, withClient } from '../../scripts/postgres-client'
import { until } from './client'
import { findPrograms, type Programs } from './failover-programs'
import { guard } from './postgres'

const root = path.resolve(import.meta.dirname, '..', '..')
const DATABASE = 'onceover'
const PASSWORD = 'postgres-of-the-failover-proof'
/** A program goes when our end of its standard input does. Its process id is the first line. */
const UNTIL_HUNG_UP = '"$@" >>"$LOG" 2>&1 & echo $!; cat >/dev/null; kill $! 2>/dev/null; wait $!'
/** For programs to start and for a killed server to follow the new primary, on a machine that does other things too. */
const PATIENCE_MS = 120_000
const CHECK_LIMIT_MS = 1000

export type Death = 'machine' | 'server' | 'frozen machine'

export interface Patroni {
  /** The database on whichever server is the primary, by HAProxy. */
  url: string
  /** The name of the server that leads, or null. */
  leader(): Promise<string | null>
  /** Waits until one server leads and the other one has all that it has; says who leads. */
  whole(): Promise<string>
  /** SIGKILL for the primary. A frozen machine is silent at first and killed once another one leads. */
  kill(how: Death): Promise<void>
  /** From now on the standby gets nothing, as on a slow network. */
  holdReplication(): Promise<void>
  close(): Promise<void>
}

interface Machine {
  name: string
  restPort: number
  data: string
  start(): Promise<void>
  pid(): number
  close(): Promise<void>
}

export async function startPatroni({ synchronous }: { synchronous: boolean }): Promise<Patroni> {
  const programs = findPrograms()
  const folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-failover-'))
  await chmod(folder, 0o755)
  const clearAway = guard(folder)
  const account = serverAccount({ data: path.join(folder, 'none'), folder, program: `${programs.postgresql}/postgres` })
  const open: { close(): Promise<void> }[] = []
  const close = async () => {
    await Promise.all(open.map((one) => one.close()))
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    clearAway()
  }
  try {
    const etcd = await startEtcd({ programs, folder, account })
    open.push(etcd)
    const machines: Machine[] = []
    const ports: [string, number, number][] = []
    for (const name of ['a', 'b']) {
      const [port, restPort] = [await freePort(), await freePort()]
      ports.push([name, port, restPort])
      const place = { programs, folder, account, name, port, restPort, etcdPort: etcd.port, synchronous }
      machines.push(await prepareMachine(place))
    }
    open.push(...machines)
    const haproxy = await startHaproxy({ programs, folder, account, ports })
    open.push(haproxy)
    const urlOf = (name: string) => `postgresql://postgres:${PASSWORD}@127.0.0.1:${haproxy.port}/${name}`
    for (const machine of machines) await machine.start()
    const cluster = operate(machines, urlOf('postgres'), synchronous)
    await cluster.whole()
    await createDatabase(urlOf('postgres'), DATABASE)
    return { ...cluster, url: urlOf(DATABASE), close }
  } catch (error) {
    const logs = execFileSync('sh', ['-c', 'tail -n 15 "$1"/*.log', 'sh', folder], { encoding: 'utf8' })
    await close()
    throw new Error(`The servers for the fail-over do not start:\n${logs}`, { cause: error })
  }
}

function operate(machines: readonly Machine[], url: string, synchronous: boolean) {
  async function leader(): Promise<string | null> {
    const asked = machines.map(async (machine) => ((await answersPrimary(machine)) ? machine.name : null))
    return (await Promise.all(asked)).find((name) => name !== null) ?? null
  }

  async function standby(): Promise<{ pid: number; hasAll: boolean } | null> {
    const [row] = await rowsOf<{ pid: number; sync: boolean; has_all: boolean }>(
      url,
      `SELECT pid, sync_state = 'sync' AS sync, replay_lsn >= pg_current_wal_lsn() - 100000 AS has_all
       FROM pg_stat_replication WHERE state = 'streaming'`,
    )
    return row && row.sync === synchronous ? { pid: row.pid, hasAll: row.has_all } : null
  }

  async function whole(): Promise<string> {
    const found = await until(
      async () => {
        const seen = await standby().catch(() => null)
        const name = await leader()
        const ready = seen?.hasAll && name && (!synchronous || (await isNamedSynchronous(machines)))
        return ready ? name : null
      },
      (name) => name !== null,
      PATIENCE_MS,
    )
    return found!
  }

  async function kill(how: Death): Promise<void> {
    const name = await leader()
    const machine = machines.find((one) => one.name === name)!
    const processes = await serverProcesses(machine)
    const all = how === 'server' ? processes : [machine.pid(), ...processes]
    if (how === 'frozen machine') {
      signal(all, 'SIGSTOP')
      await until(leader, (now) => now !== null && now !== name, PATIENCE_MS)
    }
    signal(all, 'SIGKILL')
    if (how === 'server') return
    await until(leader, (now) => now !== null && now !== name, PATIENCE_MS)
    await machine.start()
  }

  return {
    leader,
    whole,
    kill,
    async holdReplication() {
      signal([(await standby())!.pid], 'SIGSTOP')
    },
  }
}

/** The postmaster first, and stopped, so that it starts no further process. */
async function serverProcesses({ data }: Pick<Machine, 'data'>): Promise<number[]> {
  const postmaster = Number.parseInt(await readFile(path.join(data, 'postmaster.pid'), 'utf8'), 10)
  signal([postmaster], 'SIGSTOP')
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' })
  return [postmaster, ...children.split('\n').filter(Boolean).map(Number)]
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch {
      // It has ended meanwhile.
    }
}

const restOf = ({ restPort }: Pick<Machine, 'restPort'>, page: string) =>
  fetch(`http://127.0.0.1:${restPort}/${page}`, { signal: AbortSignal.timeout(CHECK_LIMIT_MS) })

const answersPrimary = (machine: Machine): Promise<boolean> =>
  restOf(machine, 'primary').then(
    async (answer) => {
      await answer.text()
      return answer.status === 200
    },
    () => false,
  )

/** Patroni promotes only the standby that it has written down as synchronous. */
async function isNamedSynchronous(machines: readonly Machine[]): Promise<boolean> {
  for (const machine of machines) {
    const answer = await restOf(machine, 'cluster').catch(() => null)
    if (answer?.status !== 200) continue
    const { members } = (await answer.json()) as { members: { role: string }[] }
    return members.some(({ role }) => role === 'sync_standby')
  }
  return false
}

function rowsOf<Row extends object>(url: string, text: string): Promise<Row[]> {
  return withClient(url, async (client) => (await client.query<Row>(text)).rows)
}

interface Place {
  programs: Programs
  folder: string
  account: ServerAccount
}

async function startEtcd({ programs, folder, account }: Place) {
  const [port, peers] = [await freePort(), await freePort()]
  const data = await ownFolder(path.join(folder, 'etcd'), account)
  const urls = { clients: `http://127.0.0.1:${port}`, peers: `http://127.0.0.1:${peers}` }
  const args = [
    ...['--name', 'e', '--data-dir', data, '--logger', 'zap'],
    ...['--listen-client-urls', urls.clients, '--advertise-client-urls', urls.clients],
    ...['--listen-peer-urls', urls.peers, '--initial-advertise-peer-urls', urls.peers],
    ...['--initial-cluster', `e=${urls.peers}`],
  ]
  const started = await startProgram({ folder, account, log: 'etcd', file: programs.etcd, args })
  const answers = () =>
    fetch(`${urls.clients}/health`).then(
      (answer) => answer.ok,
      () => false,
    )
  await until(answers, (ok) => ok, PATIENCE_MS)
  return { port, close: started.close }
}

interface MachinePlace extends Place {
  name: string
  port: number
  restPort: number
  etcdPort: number
  synchronous: boolean
}

async function prepareMachine(place: MachinePlace): Promise<Machine> {
  const { programs, folder, account, name, restPort } = place
  const own = await ownFolder(path.join(folder, name), account)
  const data = path.join(own, 'data')
  const file = path.join(own, 'patroni.json')
  await writeFile(file, JSON.stringify(patroniSettings(place, own, data), null, 1), { mode: 0o600 })
  await account.own(file)
  let running: Awaited<ReturnType<typeof startProgram>> | null = null
  return {
    name,
    restPort,
    data,
    async start() {
      await running?.close()
      running = await startProgram({ folder, account, log: `patroni-${name}`, file: programs.patroni, args: [file] })
    },
    pid: () => running!.pid,
    /** At once: what is in it is not needed any more. */
    async close() {
      if (running) signal([running.pid, ...(await serverProcesses({ data }).catch(() => []))], 'SIGKILL')
      await running?.close()
    },
  }
}

/** JSON is YAML too. */
function patroniSettings(
  { programs, name, port, restPort, etcdPort, synchronous }: MachinePlace,
  own: string,
  data: string,
) {
  const at = `127.0.0.1:${port}`
  return {
    scope: DATABASE,
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...{
          ttl: 10,
          loop_wait: 2,
          retry_timeout: 4,
          primary_start_timeout: 0,
          synchronous_mode: synchronous,
          maximum_lag_on_failover: 64 * 2 ** 20,
        },
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 200, wal_keep_size: '256MB' } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      ...{ listen: at, connect_address: at, data_dir: data, bin_dir: programs.postgresql },
      pgpass: path.join(own, 'pgpass'),
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication standby 127.0.0.1/32 scram-sha-256'],
      authentication: {
        superuser: { username: 'postgres', password: PASSWORD },
        replication: { username: 'standby', password: PASSWORD },
      },
      parameters: { unix_socket_directories: own },
    },
  }
}

async function startHaproxy({ programs, folder, account, ports }: Place & { ports: [string, number, number][] }) {
  const port = await freePort()
  const config = ports.reduce(
    (text, [name, server, rest]) =>
      text.replace(new RegExp(`server ${name} .*`), `server ${name} 127.0.0.1:${server} check port ${rest}`),
    (await recommended()).replace(/bind .*/, `bind 127.0.0.1:${port}`),
  )
  const file = path.join(folder, 'haproxy.cfg')
  await writeFile(file, config)
  const { close } = await startProgram({
    folder,
    account,
    log: 'haproxy',
    file: programs.haproxy,
    args: ['-db', '-f', file],
  })
  return { port, close }
}

/** The haproxy.cfg of docs/scaling.md: what it recommends is what is tested. */
async function recommended(): Promise<string> {
  const page = await readFile(path.join(root, 'docs', 'scaling.md'), 'utf8')
  return /```haproxy\n([\s\S]*?)```/.exec(page)![1]!
}

async function ownFolder(folder: string, account: ServerAccount): Promise<string> {
  await mkdir(folder, { mode: 0o700 })
  await account.own(folder)
  return folder
}

interface Start {
  folder: string
  account: ServerAccount
  log: string
  file: string
  args: readonly string[]
}

async function startProgram({ folder, account, log, file, args }: Start) {
  const { command, args: all, options } = account.command(file, args)
  const logFile = path.join(folder, `${log}.log`)
  await writeFile(logFile, '', { flag: 'a' })
  await account.own(logFile)
  const child = spawn('/bin/sh', ['-c', UNTIL_HUNG_UP, 'sh', command, ...all], {
    ...options,
    env: { ...withoutPgVariables(), LOG: logFile },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  const [first] = await once(child.stdout!, 'data')
  return {
    pid: Number(first),
    async close() {
      child.stdin!.end()
      await exited
    },
  }
}
