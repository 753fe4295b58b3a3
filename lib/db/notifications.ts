// The line on which the database tells this process what others did: one LISTEN connection, opened when somebody first
// wants to hear and from then on opened again whenever it is lost. It is asked for a sign of life all the time, so that
// a line which has fallen silent is known for what it is.
import pg from 'pg'
import { wallMs } from '../wall-clock'
import { SERVER, serverOfStore } from './clock'

const RECONNECT_AFTER_MS = 500
/** Whoever waits longer for the line looks for itself. */
const PATIENCE_MS = 3000
const ASK_AFTER_MS = 300
/** What was notified longer ago than this has been heard here, or the line does not count as one. */
const CURRENT_WITHIN_MS = 900

export interface Notifications {
  /** Opens the line, if it is not open. False when that could not be done. */
  listen(): Promise<boolean>
  /** Whether everything that the store's server notified until a moment ago, less than a second, has been heard. */
  isCurrent(): boolean
  /** The database's clock says at most this. */
  latestMs(): number
  /** The same, where the line is current. */
  currentMs(): number | null
  /** A channel has to be known before the connection is first opened. */
  on(channel: string, heard: (payload: string) => void): void
  /** Told when the line is lost: from here on something may have been missed. */
  onLost(lost: () => void): void
  close(): Promise<void>
}

export function openNotifications(url: string): Notifications {
  const channels = new Map<string, (payload: string) => void>()
  const losers: (() => void)[] = []
  let connecting: Promise<boolean> | null = null
  let client: pg.Client | null = null
  let asking: NodeJS.Timeout | undefined
  let sign: Sign | null = null
  let closed = false

  function lost(was: pg.Client) {
    if (client !== was) return
    client = null
    connecting = null
    clearTimeout(asking)
    for (const tell of losers) tell()
    openLater()
  }

  /** Unless somebody else does by then. Who wants to listen meanwhile is told what the last one was told. */
  function openLater() {
    const before = connecting
    setTimeout(() => {
      if (closed || connecting !== before) return
      connecting = null
      listen()
    }, RECONNECT_AFTER_MS).unref()
  }

  // The answer comes behind every notification that was sent before the question, on the same line.
  async function ask(of: pg.Client): Promise<void> {
    try {
      const given = await signOf(of)
      if (client !== of) return
      sign = given
      asking = setTimeout(ask, ASK_AFTER_MS, of).unref()
    } catch {
      lost(of)
      end(of)
    }
  }

  async function open(): Promise<boolean> {
    const fresh = new pg.Client({
      connectionString: url,
      application_name: 'onceover-listen',
      connectionTimeoutMillis: PATIENCE_MS,
      query_timeout: PATIENCE_MS,
      keepAlive: true,
    })
    fresh.on('error', () => {})
    fresh.on('end', () => lost(fresh))
    fresh.on('notification', ({ channel, payload }) => channels.get(channel)?.(payload ?? ''))
    try {
      await fresh.connect()
      for (const channel of channels.keys()) await fresh.query(`LISTEN ${channel}`)
      sign = await signOf(fresh)
      client = fresh
      asking = setTimeout(ask, ASK_AFTER_MS, fresh).unref()
      return true
    } catch {
      end(fresh)
      openLater()
      return false
    }
  }

  function listen(): Promise<boolean> {
    if (closed) return Promise.resolve(false)
    connecting ??= open()
    return connecting
  }

  function currentMs(): number | null {
    if (client === null || sign === null) return null
    const sinceMs = since(sign)
    const isCurrent = sinceMs < CURRENT_WITHIN_MS && (serverOfStore() ?? sign.server) === sign.server
    return isCurrent ? sign.databaseMs + sinceMs : null
  }

  return {
    listen,
    isCurrent: () => currentMs() !== null,
    currentMs,
    latestMs: () => (sign ? sign.databaseMs + since(sign) : Number.POSITIVE_INFINITY),
    on(channel, heard) {
      if (connecting && !channels.has(channel)) throw new Error(`${channel} was not known when LISTEN began`)
      channels.set(channel, heard)
    },
    onLost: (tell) => losers.push(tell),
    async close() {
      closed = true
      await connecting
      const last = client
      if (last) lost(last)
      await last?.end().catch(() => {})
    },
  }
}

/** Of life. Whatever was notified before it was asked for has been heard. */
interface Sign {
  askedMs: { monotonic: number; wall: number }
  databaseMs: number
  server: string
}

async function signOf(client: pg.Client): Promise<Sign> {
  const askedMs = { monotonic: performance.now(), wall: wallMs() }
  const { rows } = await client.query<{ now: number; server: string }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, ${SERVER.text} AS server`,
  )
  return { askedMs, databaseMs: rows[0]!.now, server: rows[0]!.server }
}

/** The larger of what both clocks say: either may stand still in a suspend. */
const since = ({ askedMs }: Sign): number => Math.max(performance.now() - askedMs.monotonic, wallMs() - askedMs.wall)

/** A line that is silent does not even say goodbye: nobody waits for that. */
function end(client: pg.Client): void {
  client.end().catch(() => {})
}
