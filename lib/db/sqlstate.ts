// Which failures of the store mean "it can't be asked now" and which are bugs. Only the former may open the
// circuit, be retried, or become a 503.

/** Connection exceptions, a refused sign-in, insufficient resources, operator intervention, a statement out of time. */
const UNAVAILABLE_CLASSES = new Set(['08', '28', '53', '57'])
/** No such database (any more): dropped, renamed, or not restored yet. */
const NO_DATABASE = '3D000'
/** Deadlock and serialisation failures: the transaction is gone, running it again is right. */
const RETRYABLE = new Set(['40001', '40P01'])
/** A read-only server: a primary that was demoted under us. */
const READ_ONLY = '25006'
/** A lock was not to be had in time. */
const NO_LOCK = '55P03'
/** The server ended a transaction in which nothing was sent for too long. */
const IDLE_IN_TRANSACTION = '25P03'
const UNAVAILABLE = new Set([READ_ONLY, NO_DATABASE, NO_LOCK, IDLE_IN_TRANSACTION])

/** Known by its code, not by its class: Next's bundles have a copy of this file each. */
const STORE_UNAVAILABLE = 'STORE_UNAVAILABLE'

export class StoreUnavailable extends Error {
  readonly code = STORE_UNAVAILABLE
  constructor(cause: unknown) {
    super('The store could not be asked.', { cause })
    this.name = 'StoreUnavailable'
  }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** A database that takes no connections; its SQLSTATE is used for other things too. */
const isClosed = (error: unknown): boolean => /not currently accepting connections/.test(messageOf(error))

/** A standby that is about to be the primary refuses more than writes, under SQLSTATEs that mean other things too. */
const isInRecovery = (error: unknown): boolean => /during recovery|recovery is in progress/.test(messageOf(error))

const messageOf = (error: unknown): string => (error as Error | null)?.message ?? ''

/** No connection could be had in time: none was free, or none could be made. */
export const isQueueTimeout = (error: unknown): boolean =>
  /timeout exceeded when trying to connect/i.test(messageOf((error as Error | null)?.cause ?? error))

export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  if (code === STORE_UNAVAILABLE) return true
  if (code.length === 5 && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E'))
    return UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE.has(code) || isClosed(error) || isInRecovery(error)
  // Node's own: errno names, and what a stream or socket says of itself. Its other ERR_ codes are bugs.
  if (/^E(?!RR_)[A-Z_]+$|^ERR_(SOCKET|STREAM|TLS|SSL)_/.test(code)) return true
  // node-postgres reports a lost or unobtainable connection as a bare Error
  return /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|query read timeout|not queryable|cannot use a pool after calling end/i.test(
    messageOf(error),
  )
}

/** The server ended the statement and undid it: it took too long, or waited too long for a lock. */
const CANCELED = new Set(['57014', NO_LOCK])

/** The server itself says that nothing was done, and that it is there. */
export const isRefusal = (error: unknown): boolean =>
  !isUnavailable(error) || CANCELED.has(codeOf((error as { cause?: unknown } | null)?.cause))

export const isRetryable = (error: unknown): boolean => RETRYABLE.has(codeOf(error))
/** The database itself refused the row: whoever wrote it asked for something that can't be. */
export const isIntegrityViolation = (error: unknown): boolean => codeOf(error).startsWith('23')
/** The name of the constraint that refused the row; null for anything else, such as a trigger's refusal, which is a bug. */
export const violatedConstraint = (error: unknown): string | null =>
  isIntegrityViolation(error) ? ((error as { constraint?: string }).constraint ?? null) : null
