// Waiting for the end of an attempt on any node: one LISTEN connection a process, and nobody polls. When the
// connection breaks, every waiter is woken to look for itself, since a notification may have been missed.
import pg from 'pg'
import { CHANNEL } from './sql/notify'

const RECONNECT_AFTER_MS = 500
/** Whoever waits longer for the line looks for itself. */
const LISTEN_LIMIT_MS = 3000

export interface Waiting {
  /** Begins to listen for a record; call before the record is marked as awaited. */
  expect(recordId: string): Expectation
  close(): Promise<void>
}

export interface Expectation {
  /** Ends with the notification, after `limitMs`, or when `signal` aborts, whichever comes first. */
  orAfter(limitMs: number, signal?: AbortSignal): Promise<void>
  cancel(): void
  /** Listening has begun; false when it could not. */
  listening: Promise<boolean>
}

export function openWaiting(url: string): Waiting {
  const waiters = new Map<string, Set<() => void>>()
  let connecting: Promise<boolean> | null = null
  let client: pg.Client | null = null
  let closed = false

  function wakeAll() {
    for (const set of waiters.values()) for (const wake of set) wake()
  }

  function lost() {
    client = null
    connecting = null
    wakeAll()
    if (!closed && waiters.size) setTimeout(() => !closed && listen(), RECONNECT_AFTER_MS).unref()
  }

  function listen(): Promise<boolean> {
    connecting ??= (async () => {
      const fresh = new pg.Client({
        connectionString: url,
        application_name: 'onceover-listen',
        connectionTimeoutMillis: LISTEN_LIMIT_MS,
        query_timeout: LISTEN_LIMIT_MS,
        keepAlive: true,
      })
      fresh.on('error', () => {})
      fresh.on('end', () => client === fresh && lost())
      fresh.on('notification', ({ payload }) => {
        for (const wake of waiters.get(payload ?? '') ?? []) wake()
      })
      try {
        await fresh.connect()
        await fresh.query(`LISTEN ${CHANNEL}`)
        client = fresh
        return true
      } catch {
        fresh.end().catch(() => {})
        connecting = null
        return false
      }
    })()
    return connecting
  }

  return {
    expect(recordId) {
      let wake = () => {}
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const set = waiters.get(recordId) ?? new Set()
      waiters.set(recordId, set.add(wake))
      const cancel = () => {
        set.delete(wake)
        if (!set.size && waiters.get(recordId) === set) waiters.delete(recordId)
      }
      return {
        listening: listen(),
        cancel,
        async orAfter(limitMs, signal) {
          const timer = setTimeout(wake, Math.max(0, limitMs))
          signal?.addEventListener('abort', wake, { once: true })
          // aborted before anybody listened for it
          if (signal?.aborted) wake()
          await woken
          signal?.removeEventListener('abort', wake)
          clearTimeout(timer)
          cancel()
        },
      }
    },
    async close() {
      closed = true
      wakeAll()
      await connecting
      await client?.end().catch(() => {})
    },
  }
}
