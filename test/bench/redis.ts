// A Redis of the run's own, in an empty folder, with the durability that Debian's package and the official image come
// with: snapshots now and then, no append-only file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { freePort } from '../../scripts/port'

export interface Redis {
  url: string
  stop(): Promise<void>
}

/** Null where there is no redis-server on this machine. */
export async function startRedis(): Promise<Redis | null> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-redis-'))
  const port = await freePort()
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder])
  const exited = once(child, 'exit').catch(() => null)
  const ready = new Promise<boolean>((resolve) => {
    child.stdout.on('data', (chunk) => /Ready to accept connections/.test(String(chunk)) && resolve(true))
    child.once('error', () => resolve(false))
    child.once('exit', () => resolve(false))
  })
  const remove = () => rm(folder, { recursive: true, force: true })
  if (!(await ready)) {
    await remove()
    return null
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill()
      await exited
      await remove()
    },
  }
}
