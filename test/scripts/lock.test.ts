// A lock has one holder, and a dead holder does not keep it.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { takeLock } from '../../scripts/lock.mjs'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-lock-'))
  file = path.join(folder, 'a', 'start.lock')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Leaves a lock file behind as a killed process does. */
async function leaveBehind(content: object, ageMs = 0): Promise<void> {
  await rm(file, { force: true })
  const lock = await takeLock(file)
  const mine = JSON.parse(await readFile(file, 'utf8'))
  await lock.release()
  await writeFile(file, JSON.stringify({ ...mine, ...content }))
  const touchedAt = new Date(Date.now() - ageMs)
  await utimes(file, touchedAt, touchedAt)
}

it('a lock file makes a second taker wait for the first, and reports the wait once', async () => {
  const waits: (number | undefined)[] = []
  const first = await takeLock(file)
  const second = takeLock(file, { onWait: (pid) => waits.push(pid) })
  await expect.poll(() => waits).toEqual([process.pid])
  let taken = false
  second.then(() => {
    taken = true
  })
  expect(taken).toBe(false)
  await first.release()
  await (await second).release()
  expect(waits).toEqual([process.pid])
  expect(existsSync(file)).toBe(false)
})

it('a lock file is held by one of ten concurrent takers at a time', async () => {
  let inside = 0
  let most = 0
  const turn = async () => {
    const lock = await takeLock(file)
    inside += 1
    most = Math.max(most, inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside -= 1
    await lock.release()
  }
  await Promise.all(Array.from({ length: 10 }, turn))
  expect(most).toBe(1)
})

it('a lock file of a process that has ended is taken over at once', async () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  await leaveBehind({ pid })
  const lock = await takeLock(file, { onWait: () => expect.unreachable('must not wait') })
  await lock.release()
})

it('a lock file of another machine is taken over only when it has long not been refreshed', async () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  await leaveBehind({ pid, host: 'elsewhere' }, 10_000)
  const waiting = new AbortController()
  const refused = takeLock(file, { signal: waiting.signal, onWait: () => waiting.abort() })
  await expect(refused).rejects.toThrow()
  await leaveBehind({ pid, host: 'elsewhere' }, 16_000)
  await (await takeLock(file)).release()
})

it('an old lock file that is empty is taken over', async () => {
  await leaveBehind({})
  await writeFile(file, '')
  const old = new Date(Date.now() - 16_000)
  await utimes(file, old, old)
  await (await takeLock(file)).release()
})

it('a stale lock file is taken over by one of ten concurrent takers at a time', async () => {
  await leaveBehind({ host: 'elsewhere' }, 16_000)
  let inside = 0
  let most = 0
  const turn = async () => {
    const lock = await takeLock(file)
    inside += 1
    most = Math.max(most, inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside -= 1
    await lock.release()
  }
  await Promise.all(Array.from({ length: 10 }, turn))
  expect(most).toBe(1)
  expect(await readdir(path.dirname(file))).toEqual([])
})

it('a lock file of a successor stays when the evicted holder releases its lock', async () => {
  const first = await takeLock(file)
  const old = new Date(Date.now() - 16_000)
  await utimes(file, old, old)
  const second = await takeLock(file)
  await first.release()
  expect(existsSync(file)).toBe(true)
  await second.release()
})
