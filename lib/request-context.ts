// Which request, run or job this is part of, for log lines and timeline events that are written far from where it came
// in. It follows the work through every await, and through nothing else.
import { AsyncLocalStorage } from 'node:async_hooks'
import { processWide } from './process-wide'

const storage = () => processWide('request-context', () => new AsyncLocalStorage<string>())

export const withRequestId = <T>(requestId: string, work: () => T): T => storage().run(requestId, work)

export const currentRequestId = (): string | undefined => storage().getStore()
