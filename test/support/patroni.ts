// Two PostgreSQL servers under Patroni and etcd behind HAProxy, set up as docs/scaling.md says, on loopback and on a
// folder of their own. A server with its Patroni stands for a machine: both are killed at once. Everything ends with the
// process that started it, however that ends.
import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../../scripts/port'
import { serverAccount } from '../../scripts/postgres-account'
import { createDatabase, withClient } from '../../scripts/postgres-client'
import { until } from './client'
import { findPrograms } from './failover-programs'
import { type Machine, PASSWORD, prepareMachine, signal, startEtcd, startHaproxy } from './patroni-machine'
import { guard } from './postgres'

const DATABASE = 'onceover'
/** For a killed server to follow the new primary, on a machine that does other things too. */
const PATIENCE_MS = 120_000
const CHECK_LIMIT_MS = 1000

/** Of the primary, as a machine or by its server alone, or of the standby. A frozen machine is silent first. */
export type Death = 'machine' | 'server' | 'frozen machine' | 'standby'

export interface Patroni {
  /** The database on whichever server is the primary, by HAProxy. */
  url: string
  /** Waits until one server leads and the other one has what it has. */
  whole(): Promise<void>
  /** SIGKILL. What died is started again once the other one does without it. */
  kill(how: Death): Promise<void>
  /** From now on the standby gets nothing, as on a slow network. */
  holdReplication(): Promise<void>
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

  async function whole(): Promise<void> {
    const hasAll = async () => (await standby().catch(() => null))?.hasAll
    const promotable = async () => !synchronous || (await isNamedSynchronous(machines))
    await until(
      async () => (await hasAll()) && (await leader()) && (await promotable()),
      (ready) => Boolean(ready),
      PATIENCE_MS,
    )
  }

  async function kill(how: Death): Promise<void> {
    const name = await leader()
    const dying = machines.find((one) => (one.name === name) === (how !== 'standby'))!
    const another = () => until(leader, (now) => now !== null && now !== name, PATIENCE_MS)
    const processes = await dying.serverProcesses()
    if (how !== 'server') processes.unshift(dying.pid())
    if (how === 'frozen machine') {
      signal(processes, 'SIGSTOP')
      await another()
    }
    signal(processes, 'SIGKILL')
    // Its Patroni, which lives, starts it again.
    if (how === 'server') return
    await (how === 'standby' ? until(() => isAlone().catch(() => false), Boolean, PATIENCE_MS) : another())
    await dying.start()
  }

  /** The primary waits for no standby any more. */
  async function isAlone(): Promise<boolean> {
    const [row] = await rowsOf<{ none: boolean }>(
      url,
      `SELECT current_setting('synchronous_standby_names') = '' AS none`,
    )
    return row!.none
  }

  return {
    whole,
    kill,
    async holdReplication() {
      signal([(await standby())!.pid], 'SIGSTOP')
    },
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
