// The processes that serve one port together, as the process sees them that started them and serves nothing itself.
// There are always as many as were asked for: one that ends is replaced, and where that is no use, all of them are ended
// and the start fails. When this returns, none is left.
import { setMaxListeners } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Numbers } from '../lib/metrics/exposition'
import type { Welcome } from '../lib/node/start'
import { aborted } from './aborted'
import type { Door } from './door'
import { countReplacements, type Replacements } from './replacements'
import { type Serving, startServing } from './serving'
import { openSummedNumbers } from './summed-numbers'

const ENTRY = path.join(import.meta.dirname, 'serving-process.mjs')
// A process that is too busy to tell its numbers is in the sum with what it told last.
const TELL_LIMIT_MS = 1_000
// What is left to a process that was told to hurry, or whose own limits are over, before it is killed.
const OVERTIME_MS = 3_000

export interface Together {
  count: number
  /** What a process may take to drain, and once more to stop. */
  drainMs: number
  stopping: AbortSignal
  hurrying: AbortSignal
  say: (line: string) => void
  /** All of them answer. Called once, with what a person should read. */
  onReady(welcome: string): void
  entry?: string
  replacements?: Replacements
}

export async function serveTogether(door: Door, together: Together): Promise<void> {
  const { count, drainMs, stopping, hurrying, say, onReady } = together
  const { entry = ENTRY, replacements = countReplacements(count) } = together
  const serving = new Set<Serving>()
  const numbers = openSummedNumbers()
  const failed = new AbortController()
  const ending = AbortSignal.any([stopping, failed.signal])
  setMaxListeners(0, ending)
  const hurried = aborted(hurrying)

  async function sumNumbers(): Promise<Numbers> {
    const told = Promise.all([...serving].filter((one) => one.wasReady()).map((one) => one.tell()))
    await Promise.race([told, sleep(TELL_LIMIT_MS)])
    return numbers.sum()
  }

  async function untilReplaced(how: string): Promise<void> {
    const delayMs = replacements.delayMs()
    if (delayMs === null) throw new Error(`${how}, and others before it; the reason is above.`)
    say(`${how}; another one starts${delayMs ? ` in ${delayMs} ms` : ''}.`)
    await sleep(delayMs, undefined, { signal: ending }).catch(() => {})
  }

  /** One of the `count`, whichever process that is just now. */
  async function keepOne(onFirst: (welcome: Welcome) => void): Promise<void> {
    for (let first = true; !ending.aborted; first = false) {
      const one = startServing(entry, { door, numbers, sumNumbers })
      serving.add(one)
      if (first) one.ready.then(onFirst)
      const how = await one.ended.finally(() => serving.delete(one))
      if (ending.aborted) return
      if (first && !one.wasReady()) throw new Error(`${how} before it answered; the reason is above.`)
      await untilReplaced(how)
    }
  }

  async function end(one: Serving): Promise<void> {
    const gone = one.ended.catch(() => {})
    one.send({ kind: 'stop' })
    await Promise.race([gone, hurried, sleep(2 * drainMs + OVERTIME_MS)])
    one.send({ kind: 'hurry' })
    await Promise.race([gone, sleep(OVERTIME_MS)])
    one.kill()
  }

  const onEnding = () => {
    door.close()
    for (const one of serving) void end(one)
  }
  if (ending.aborted) onEnding()
  else ending.addEventListener('abort', onEnding, { once: true })

  const welcomes: Welcome[] = []
  const secret = () => welcomes.find(({ hasSecrets }) => hasSecrets)
  let welcomed = false
  const onFirst = (welcome: Welcome) => {
    welcomes.push(welcome)
    if (welcomes.length < count || ending.aborted) return
    welcomed = true
    onReady((secret() ?? welcome).text)
  }
  const kept = Array.from({ length: count }, async () => {
    try {
      await keepOne(onFirst)
    } catch (error) {
      failed.abort()
      throw error
    }
  })
  const results = await Promise.allSettled(kept)
  // Made, stored, and shown by nobody else ever again.
  if (!welcomed && secret()) say(secret()!.text)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
