// Waiting for the end of an attempt on any node: nobody polls. When the line on which that is told is lost, every
// waiter is woken to look for itself, since a notification may have been missed.
import type { Notifications } from '../db/notifications'
import { CHANNEL } from './store/notify'

export interface Waiting {
  /** Begins to listen for a record; call before the record is marked as awaited. */
  expect(recordId: string): Expectation
}

interface Expectation {
  /** Ends with the notification, after `limitMs`, or when `signal` aborts, whichever comes first. */
  orAfter(limitMs: number, signal?: AbortSignal): Promise<void>
  cancel(): void
  /** Listening has begun; false when it could not. */
  listening: Promise<boolean>
}

export function openWaiting(line: Notifications): Waiting {
  const waiters = new Map<string, Set<() => void>>()

  line.on(CHANNEL, (recordId) => {
    for (const wake of waiters.get(recordId) ?? []) wake()
  })
  line.onLost(() => {
    for (const set of waiters.values()) for (const wake of set) wake()
  })

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
        listening: line.listen(),
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
  }
}
