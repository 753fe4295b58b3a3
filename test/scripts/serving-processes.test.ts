// There are always as many processes as were asked for, or none.
import { execFileSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { type Door, openDoor } from '../../scripts/door'
import { serveTogether, type Together } from '../../scripts/serving-processes'

const ENTRY = path.join(import.meta.dirname, 'stand-in-process.mjs')
vi.setConfig({ testTimeout: 30_000 })
const started: { stopping: AbortController; hurrying: AbortController; ended: Promise<void> }[] = []
// Whatever became of a test, the next one begins without processes.
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const { stopping, hurrying, ended } of started.splice(0)) {
    stopping.abort()
    hurrying.abort()
    await ended.catch(() => {})
  }
})

function childrenOf(pid: number): number[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n')
  const rows = all.map((line) => /^ *(\d+) +(\d+) +(\S+) (.*)$/.exec(line)).filter((row) => row !== null)
  return rows.filter((row) => Number(row[2]) === pid && row[4]!.includes(ENTRY)).map((row) => Number(row[1]))
}

async function start(behaviour: string, changes: Partial<Together> = {}) {
  vi.stubEnv('STAND_IN', behaviour)
  const door = await openDoor(0)
  const given = new EventEmitter()
  const stopping = new AbortController()
  const hurrying = new AbortController()
  const said: string[] = []
  let onReady = (_: string) => {}
  const ready = new Promise<string>((resolve) => {
    onReady = resolve
  })
  const admit: Door['admit'] = (give) =>
    door.admit((connection, socket) => {
      give(connection, socket)
      given.emit('connection')
    })
  const ended = serveTogether(
    { ...door, admit },
    {
      count: 2,
      drainMs: 1_000,
      stopping: stopping.signal,
      hurrying: hurrying.signal,
      say: (line) => said.push(line),
      onReady,
      entry: ENTRY,
      ...changes,
    },
  )
  ended.catch(() => {})
  started.push({ stopping, hurrying, ended })
  return { port: door.port, given, stopping, hurrying, said, ready, ended }
}

async function letOneHaveSecrets(): Promise<void> {
  vi.stubEnv('SECRETS', path.join(await mkdtemp(path.join(os.tmpdir(), 'onceover-secrets-')), 'made'))
}

it('serveTogether starts the requested number of processes, shows the first secrets once, and ends all processes', async () => {
  await letOneHaveSecrets()
  const onReady = vi.fn()
  const { stopping, ended } = await start('', { count: 3, onReady })
  await expect.poll(() => onReady.mock.calls).toEqual([['welcome, and a secret']])
  expect(childrenOf(process.pid)).toHaveLength(3)
  stopping.abort()
  await ended
  expect(childrenOf(process.pid)).toEqual([])
})

it('serveTogether replaces a killed process, and keeps the others running', async () => {
  const { ready, said, stopping, ended } = await start('')
  await ready
  const before = childrenOf(process.pid)
  process.kill(before[0]!, 'SIGKILL')
  await expect.poll(() => childrenOf(process.pid).filter((pid) => pid !== before[0])).toHaveLength(2)
  expect(childrenOf(process.pid)).toContain(before[1])
  expect(said).toEqual([`serving process ${before[0]} ended by SIGKILL; another one starts.`])
  stopping.abort()
  await ended
})

it('serveTogether gives a connection of a hanging process that is killed to its replacement', async () => {
  await letOneHaveSecrets()
  const { port, given, ready, stopping, ended } = await start('first hangs', { count: 1 })
  await ready
  const sent = once(given, 'connection')
  const client = net.connect(port, 'localhost')
  await sent
  process.kill(childrenOf(process.pid)[0]!, 'SIGKILL')
  expect((await client.toArray()).join('')).toBe('taken')
  stopping.abort()
  await ended
})

it('serveTogether shows the first secrets even if another process fails at the start', async () => {
  await letOneHaveSecrets()
  const { ended, said } = await start('others fail')
  await expect(ended).rejects.toThrow(/ended with 3 before it answered/)
  expect(said).toEqual(['welcome, and a secret'])
})

it('serveTogether tries again when a replacement can’t be spawned, and keeps the others running', async () => {
  const { ready, said, stopping, ended } = await start('')
  await ready
  const [one, other] = childrenOf(process.pid)
  const { execPath } = process
  // What the next one would be started with is not there.
  process.execPath = path.join(os.tmpdir(), 'onceover-no-such-program')
  try {
    process.kill(one!, 'SIGKILL')
    await expect.poll(() => said.length).toBeGreaterThan(1)
  } finally {
    process.execPath = execPath
  }
  expect(said[1]).toMatch(/^serving process that never began ended with ENOENT; another one starts/)
  await expect.poll(() => childrenOf(process.pid), { timeout: 30_000 }).toHaveLength(2)
  expect(childrenOf(process.pid)).toContain(other)
  stopping.abort()
  await ended
})

it('serveTogether fails when a process ends before it is ready, and leaves no process behind', async () => {
  const { ended } = await start('fails')
  await expect(ended).rejects.toThrow(/^serving process \d+ ended with 3 before it answered/)
  expect(childrenOf(process.pid)).toEqual([])
})

it('serveTogether fails when processes keep crashing, and leaves no process behind', async () => {
  const delays = [0, 1, 0]
  const { ended, said } = await start('crashes', { replacements: { delayMs: () => delays.shift() ?? null } })
  await expect(ended).rejects.toThrow(/^serving process \d+ ended with 4, and others before it/)
  expect(said).toHaveLength(3)
  expect(childrenOf(process.pid)).toEqual([])
})

it('serveTogether kills a process that ignores the stop request as soon as the stop is hurried', async () => {
  const { ready, stopping, hurrying, ended } = await start('deaf', { drainMs: 60_000 })
  await ready
  stopping.abort()
  hurrying.abort()
  await ended
  expect(childrenOf(process.pid)).toEqual([])
})

it('serveTogether starts no process when the stop was requested beforehand', async () => {
  await (await start('fails', { stopping: AbortSignal.abort() })).ended
})
