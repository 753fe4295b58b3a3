// A real PgBouncer in transaction mode before a test's PostgreSQL, set up as docs/scaling.md says. It ends with the
// process that started it, however that ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../../scripts/port'
import { serverAccount } from '../../scripts/postgres-account'
import { withClient } from '../../scripts/postgres-client'
import { until } from './client'
import { findProgram } from './debian-program'

const root = path.resolve(import.meta.dirname, '..', '..')
/** PgBouncer goes when our end of its standard input does. */
const UNTIL_HUNG_UP = '"$@" & cat >/dev/null; kill $!; wait $!'

export interface Pgbouncer {
  /** The database's, through the pooler. */
  url: string
  /** The same through a pool that keeps a session for as long as its client stays. */
  sessionUrl: string
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/** @param poolSize how many sessions all clients share */
export async function startPgbouncer(databaseUrl: string, poolSize: number): Promise<Pgbouncer> {
  const program = await findProgram('pgbouncer')
  const folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-pgbouncer-'))
  const account = serverAccount({ data: path.join(folder, 'none'), folder, program: program.file })
  await account.own(folder)
  const port = await freePort()
  const server = new URL(databaseUrl)
  const database = server.pathname.slice(1)
  const at = `host=${server.hostname} port=${server.port} dbname=${database}`
  const ini = (await recommended())
    .replace(/^onceover = .*?(?= connect_query)/m, `${database}_kept = ${at} pool_mode=session\n${database} = ${at}`)
    .replace(/^(listen_addr|listen_port|auth_file|default_pool_size) .*\n/gm, '')
  const own = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    auth_file: path.join(folder, 'users'),
    unix_socket_dir: '',
  }
  const settings = Object.entries({ ...own, default_pool_size: poolSize }).map(
    ([name, value]) => `${name} = ${value}\n`,
  )
  const files = {
    ini: ini + settings.join(''),
    users: `"${server.username}" "${decodeURIComponent(server.password)}"\n`,
  }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(path.join(folder, name), text, { mode: 0o600 })
    await account.own(path.join(folder, name))
  }

  const { command, args, options } = account.command(program.file, ['-q', path.join(folder, 'ini')])
  const urlOf = (name: string) => Object.assign(new URL(databaseUrl), { port: String(port), pathname: `/${name}` }).href
  const answers = () => withClient(urlOf(database), (client) => client.query('SELECT 1')).catch((error: Error) => error)
  let stop: () => Promise<void> = () => Promise.resolve()

  async function start() {
    const env = { ...process.env, ...program.env }
    const child = spawn('/bin/sh', ['-c', UNTIL_HUNG_UP, 'sh', command, ...args], {
      ...options,
      env,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    const exited = once(child, 'exit')
    let said = ''
    child.stderr!.on('data', (chunk) => {
      said += chunk
    })
    stop = async () => {
      child.stdin!.end()
      await exited
    }
    await until(answers, (answer) => !(answer instanceof Error)).catch(async (error) => {
      await stop()
      throw new Error(`PgBouncer does not answer:\n${said}`, { cause: error })
    })
  }

  await start()
  return {
    url: urlOf(database),
    sessionUrl: urlOf(`${database}_kept`),
    start,
    stop: () => stop(),
    async close() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The pgbouncer.ini of docs/scaling.md: what it recommends is what is tested. */
async function recommended(): Promise<string> {
  const page = await readFile(path.join(root, 'docs', 'scaling.md'), 'utf8')
  return /```ini\n([\s\S]*?)```/.exec(page)![1]!
}
