// A real HAProxy before nodes, set up as docs/scaling.md says. It ends with the process that started it, however that
// ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../../scripts/port'
import { until } from './client'
import { findProgram } from './debian-program'

const root = path.resolve(import.meta.dirname, '..', '..')
/** HAProxy goes when our end of its standard input does. */
const UNTIL_HUNG_UP = '"$@" & cat >/dev/null; kill $!; wait $!'

export interface Haproxy {
  url: string
  close(): Promise<void>
}

/** Resolves when it leads to a node. */
export async function startHaproxy(nodes: readonly string[]): Promise<Haproxy> {
  const program = await findProgram('haproxy')
  const folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-haproxy-'))
  const port = await freePort()
  const servers = nodes.map((url, i) => `  server node${i} 127.0.0.1:${new URL(url).port}\n`)
  const config = (await recommended()).replace(/bind .*/, `bind 127.0.0.1:${port}`).replace(/^ {2}server .*\n/gm, '')
  const file = path.join(folder, 'haproxy.cfg')
  await writeFile(file, config + servers.join(''))

  const child = spawn('/bin/sh', ['-c', UNTIL_HUNG_UP, 'sh', program.file, '-db', '-f', file], {
    env: { ...process.env, ...program.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk
    })
  const close = async () => {
    child.stdin.end()
    await exited
    await rm(folder, { recursive: true, force: true })
  }
  const url = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(`${url}/api/ready`).then(
      ({ status }) => status,
      () => 0,
    )
  await until(answers, (status) => status === 200).catch(async (error) => {
    await close()
    throw new Error(`HAProxy does not lead to a node:\n${said}`, { cause: error })
  })
  return { url, close }
}

/** The haproxy.cfg before nodes of docs/scaling.md: what it recommends is what is tested. */
async function recommended(): Promise<string> {
  const page = await readFile(path.join(root, 'docs', 'scaling.md'), 'utf8')
  return /```haproxy\n([^`]*mode http[^`]*)```/.exec(page)![1]!
}
