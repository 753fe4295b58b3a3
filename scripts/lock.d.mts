// What lock.mjs gives to TypeScript.
export interface Lock {
  release(): Promise<void>
}

export interface LockOptions {
  /** Called once when another process holds the lock. */
  onWait?: (pid: number | undefined) => void
  signal?: AbortSignal
  staleMs?: number
}

export function takeLock(file: string, options?: LockOptions): Promise<Lock>
