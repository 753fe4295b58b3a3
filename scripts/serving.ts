// One process of several, as the process sees it that started it.
import { fork } from 'node:child_process'
import type { Numbers } from '../lib/metrics/exposition'
import type { Welcome } from '../lib/node/start'
import type { Door, Seat } from './door'
import type { FromServing, ToServing } from './process-messages'
import type { SummedNumbers } from './summed-numbers'

export interface Serving {
  /** It answers, and gets connections. Never resolves if it ends before. */
  ready: Promise<Welcome>
  wasReady(): boolean
  /** It has gone, and everything that it said was heard: how it ended, for people. */
  ended: Promise<string>
  /** Resolves once it has told its numbers, or has gone. */
  tell(): Promise<void>
  send(message: ToServing): void
  /** Ends it where it stands, if it is still there. */
  kill(): void
}

export interface Shared {
  door: Door
  numbers: SummedNumbers
  sumNumbers(): Promise<Numbers>
}

export function startServing(entry: string, { door, numbers, sumNumbers }: Shared): Serving {
  const child = fork(entry, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  // What could not be sent to a process that has gone: its end is heard of in any case.
  child.on('error', () => {})
  const send = (message: ToServing) => void child.send(message, () => {})
  const tellers = new Map<number, () => void>()
  let seat: Seat | undefined
  let rounds = 0

  let onReady = (_: Welcome) => {}
  const ready = new Promise<Welcome>((resolve) => {
    onReady = resolve
  })
  child.on('message', (message: FromServing) => {
    switch (message.kind) {
      case 'ready':
        seat = door.admit((connection, socket) => {
          child.send({ kind: 'connection', connection } satisfies ToServing, socket, { keepOpen: true }, () => {})
        })
        return onReady(message.welcome)
      case 'took':
        return seat?.took(message.connection)
      case 'refused':
        return seat?.refused(message.connection)
      case 'ended':
        return seat?.ended()
      case 'numbers':
        numbers.told(child, message.numbers)
        return message.round === null ? undefined : tellers.get(message.round)?.()
      case 'scrape':
        return void sumNumbers().then((sum) => send({ kind: 'sum', scrape: message.scrape, numbers: sum }))
    }
  })

  // Not `exit`, before which not all may have been read that it said; nor `disconnect`, for which Node waits until every
  // socket under way is received, and so for ever where the receiver was killed.
  const gone = new Promise<[code: number | string | null, signal: string | null]>((resolve) => {
    child.once('close', (code, signal) => resolve([code, signal]))
    // The system had no process left to give: an end like any other.
    child.once('error', ({ code }: NodeJS.ErrnoException) => child.pid === undefined && resolve([code ?? null, null]))
  })
  const ended = gone.then(([code, signal]) => {
    seat?.leave()
    numbers.left(child)
    for (const told of tellers.values()) told()
    return `serving process ${child.pid ?? 'that never began'} ended ${signal ? `by ${signal}` : `with ${code}`}`
  })
  return {
    ready,
    wasReady: () => seat !== undefined,
    ended,
    tell() {
      const round = ++rounds
      const told = new Promise<void>((resolve) => tellers.set(round, resolve)).finally(() => tellers.delete(round))
      send({ kind: 'tell', round })
      return told
    },
    send,
    kill: () => void child.kill('SIGKILL'),
  }
}
