// At most one process holds a lock file. Its holder touches it every few seconds, so a lock whose holder was killed is
// taken over: at once where the holder can be seen to be gone, else when nobody touched it for a while.
// Plain JavaScript without dependencies, because it is needed before anything is installed.
import { mkdir, open, readFile, readlink, rm, rmdir, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// A fifth of the stale limit: a holder may miss four beats (a stopped process, a busy disk) before it is taken for dead.
const HEARTBEAT_MS = 3_000
const STALE_MS = 15_000
const POLL_MS = 100

export async function takeLock(file, { onWait, signal, staleMs = STALE_MS } = {}) {
  await mkdir(path.dirname(file), { recursive: true })
  for (let waited = false; ; waited = true) {
    signal?.throwIfAborted()
    const handle = await open(file, 'wx').catch(unless('EEXIST'))
    if (handle) return hold(file, handle)
    const found = await inspect(file, staleMs)
    if (found?.stale) await evict(file, staleMs)
    else if (found && !waited) onWait?.(found.pid)
    if (found) await sleep(found.stale ? 1 : POLL_MS, undefined, { signal })
  }
}

async function hold(file, handle) {
  const me = { pid: process.pid, ...(await whereAmI()) }
  await handle.writeFile(JSON.stringify(me))
  const { ino } = await handle.stat()
  // Through the handle, not the name: an evicted holder must not keep its successor's file fresh.
  const beat = setInterval(() => handle.utimes(new Date(), new Date()).catch(() => {}), HEARTBEAT_MS)
  beat.unref()
  let released
  const release = async () => {
    clearInterval(beat)
    const current = await stat(file).catch(unless('ENOENT'))
    if (current?.ino === ino) await rm(file, { force: true })
    await handle.close()
  }
  return {
    release() {
      released ??= release()
      return released
    },
  }
}

async function inspect(file, staleMs) {
  const facts = await stat(file).catch(unless('ENOENT'))
  if (!facts) return undefined
  const holder = parse(await readFile(file, 'utf8').catch(() => ''))
  const silent = Date.now() - facts.mtimeMs > staleMs
  return { ino: facts.ino, pid: holder?.pid, stale: silent || (await isGone(holder)) }
}

// Two waiters may find the same stale file, and the slower one must not remove what the faster one has put in its
// place. So one at a time goes through a door, and looks again behind it. A door that its waiter left open by dying is
// taken away like a stale lock.
async function evict(file, staleMs) {
  const door = `${file}.evicting`
  const mine = await mkdir(door).then(() => true, unless('EEXIST'))
  if (!mine) {
    const facts = await stat(door).catch(unless('ENOENT'))
    if (facts && Date.now() - facts.mtimeMs > staleMs) await rmdir(door).catch(() => {})
    return
  }
  try {
    const found = await inspect(file, staleMs)
    if (found?.stale) await rm(file, { force: true })
  } finally {
    await rmdir(door)
  }
}

// Process ids mean something only on the machine, and in the container, that gave them.
async function whereAmI() {
  return { host: os.hostname(), namespace: await readlink('/proc/self/ns/pid').catch(() => '') }
}

async function isGone(holder) {
  const here = await whereAmI()
  if (!holder?.pid || holder.host !== here.host || holder.namespace !== here.namespace) return false
  try {
    process.kill(holder.pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function unless(code) {
  return (error) => {
    if (error.code !== code) throw error
    return undefined
  }
}
