// The programs of a fail-over on loopback: etcd, HAProxy, and servers under Patroni. Each ends with the process that
// started it, however that ends.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { freePort } from '../../scripts/port'
import type { ServerAccount } from '../../scripts/postgres-account'
import { withoutPgVariables } from '../../scripts/postgres-binaries'
import { until } from './client'
import type { Programs } from './failover-programs'

const root = path.resolve(import.meta.dirname, '..', '..')
const SCOPE = 'onceover'
export const PASSWORD = 'postgres-of-the-failover-proof'
/** A program goes when our end of its standard input does. Its process id is the first line. */
const UNTIL_HUNG_UP = '"$@" >>"$LOG" 2>&1 & echo $!; cat >/dev/null; kill $! 2>/dev/null; wait $!'
const READY_WITHIN_MS = 60_000

/** A server and its Patroni: what dies at once. */
export interface Machine {
  name: string
  restPort: number
  start(): Promise<void>
  /** Of the server, which is stopped first, so that it starts no further process. */
  serverProcesses(): Promise<number[]>
  /** Of Patroni. */
  pid(): number
  close(): Promise<void>
}

export interface Place {
  programs: Programs
  folder: string
  account: ServerAccount
}

export async function startEtcd({ programs, folder, account }: Place) {
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
  await until(answers, (ok) => ok, READY_WITHIN_MS)
  return { port, close: started.close }
}

interface MachinePlace extends Place {
  name: string
  port: number
  restPort: number
  etcdPort: number
  synchronous: boolean
}

export async function prepareMachine(place: MachinePlace): Promise<Machine> {
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
    serverProcesses: () => processesOf(data),
    async start() {
      await running?.close()
      running = await startProgram({ folder, account, log: `patroni-${name}`, file: programs.patroni, args: [file] })
    },
    pid: () => running!.pid,
    /** At once: what is in it is not needed any more. */
    async close() {
      if (running) signal([running.pid, ...(await processesOf(data).catch(() => []))], 'SIGKILL')
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
    scope: SCOPE,
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

export async function startHaproxy({
  programs,
  folder,
  account,
  ports,
}: Place & { ports: [string, number, number][] }) {
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

/** The haproxy.cfg before the database of docs/scaling.md: what it recommends is what is tested. */
async function recommended(): Promise<string> {
  const page = await readFile(path.join(root, 'docs', 'scaling.md'), 'utf8')
  return /```haproxy\n([^`]*mode tcp[^`]*)```/.exec(page)![1]!
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

async function processesOf(data: string): Promise<number[]> {
  const postmaster = Number.parseInt(await readFile(path.join(data, 'postmaster.pid'), 'utf8'), 10)
  signal([postmaster], 'SIGSTOP')
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' })
  return [postmaster, ...children.split('\n').filter(Boolean).map(Number)]
}

export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch {
      // It has ended meanwhile.
    }
}
