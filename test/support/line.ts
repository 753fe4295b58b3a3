// A line between two programs of a test, through which everything passes unchanged until it is told to behave like a
// network on a bad day. What it spoils it spoils for connections that are there and for those that come. Whatever it
// does to them, nothing overtakes: bytes, and the news that somebody hung up, arrive in the order in which they were
// sent.
import { once } from 'node:events'
import net from 'node:net'

/** Seen from who connects: up is what they send, down is what they get. */
type Direction = 'up' | 'down'

export interface Line {
  /** The target's address, through this line. */
  url: string
  /** Ends every connection with a reset; new ones are taken. */
  cut(): void
  /** Ends every connection with a reset, and nobody listens any more. */
  refuse(): void
  /** Nothing passes in these directions and nobody is told, not even of a hang-up: half-open. What was sent waits. */
  silence(...directions: Direction[]): void
  /** What is sent in these directions is thrown away: an answer that is lost, with its connection still there. */
  swallow(...directions: Direction[]): void
  /** The connections that are there lead nowhere from now on, and nobody is told; new ones are served. */
  forget(): void
  /** Everything takes this much longer each way. */
  delay(ms: number): void
  /** Who hangs up is heard only this much later. */
  closeSlowly(ms: number): void
  /**
   * As good as new. What waited arrives; what was swallowed never does, so those connections are cut, and so are those
   * that were forgotten. Only after `refuse` there is something to wait for: that somebody listens again.
   */
  heal(): Promise<void>
  /** Connections of which at least one end is still open. */
  count(): number
  close(): Promise<void>
}

interface Weather {
  silent: ReadonlySet<Direction>
  swallowing: ReadonlySet<Direction>
  delayMs: number
  closeMs: number
}

const FAIR: Weather = { silent: new Set(), swallowing: new Set(), delayMs: 0, closeMs: 0 }
const BOTH: ReadonlySet<Direction> = new Set(['up', 'down'])
const FORGOTTEN: Weather = { ...FAIR, silent: BOTH, swallowing: BOTH }

type Parcel = Buffer | 'end' | 'reset'

interface Connection {
  ends: readonly net.Socket[]
  /** Hands on what may pass now; with `all` also what would have taken longer. */
  pass(all: boolean): void
  /** Something that was sent will never arrive. */
  spoilt: boolean
  forgotten: boolean
}

export async function openLine(target: string | URL): Promise<Line> {
  const { hostname, port } = new URL(target)
  const connections = new Set<Connection>()
  let weather = FAIR

  const listen = async (at: number) => {
    const server = net.createServer({ allowHalfOpen: true }, (near) => {
      const far = net.connect({ port: Number(port), host: hostname, allowHalfOpen: true })
      const ends = [near, far]
      const spoil = () => {
        connection.spoilt = true
      }
      const here = () => (connection.forgotten ? FORGOTTEN : weather)
      const passages = [openPassage('up', near, far, here, spoil), openPassage('down', far, near, here, spoil)]
      const pass = (all: boolean) => {
        for (const passage of passages) passage(all)
      }
      const connection: Connection = { ends, pass, spoilt: false, forgotten: false }
      connections.add(connection)
      let open = ends.length
      for (const end of ends) end.once('close', () => --open === 0 && connections.delete(connection))
    })
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server: Promise<net.Server> | null = listen(0)
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(((await server).address() as net.AddressInfo).port)

  const cut = () => {
    for (const { ends } of connections) ends.forEach(reset)
  }
  const hangUp = () => {
    const closed = server?.then((listening) => listening.close())
    server = null
    cut()
    return closed
  }
  const turn = (change: Partial<Weather>, all = false) => {
    weather = { ...weather, ...change }
    for (const connection of connections) connection.pass(all)
  }

  return {
    url: url.href,
    cut,
    refuse: () => void hangUp(),
    silence: (...directions) => turn({ silent: new Set(directions) }),
    swallow: (...directions) => turn({ swallowing: new Set(directions) }),
    forget() {
      for (const connection of connections) connection.spoilt = connection.forgotten = true
    },
    delay: (ms) => turn({ delayMs: ms }),
    closeSlowly: (ms) => turn({ closeMs: ms }),
    async heal() {
      for (const { ends, spoilt } of connections) if (spoilt) ends.forEach(reset)
      turn(FAIR, true)
      server ??= listen(Number(url.port))
      await server
    },
    count: () => connections.size,
    async close() {
      await hangUp()
    },
  }
}

/** What comes from one end is handed to the other, first come first served, when the weather lets it. */
function openPassage(
  direction: Direction,
  from: net.Socket,
  to: net.Socket,
  weather: () => Weather,
  spoil: () => void,
): Connection['pass'] {
  const waiting: { parcel: Parcel; dueAt: number }[] = []
  let timer: NodeJS.Timeout | undefined

  function take(parcel: Parcel) {
    const { swallowing, delayMs, closeMs } = weather()
    if (swallowing.has(direction)) return spoil()
    const takesMs = delayMs + (parcel instanceof Buffer ? 0 : closeMs)
    waiting.push({ parcel, dueAt: performance.now() + takesMs })
    pass(false)
  }
  function pass(all: boolean) {
    clearTimeout(timer)
    if (weather().silent.has(direction)) return
    for (let next = waiting[0]; next; next = waiting[0]) {
      const leftMs = all ? 0 : next.dueAt - performance.now()
      if (leftMs > 0) {
        timer = setTimeout(pass, leftMs, false)
        return
      }
      waiting.shift()
      hand(next.parcel)
    }
  }
  function hand(parcel: Parcel) {
    if (parcel === 'reset') reset(to)
    else if (parcel === 'end') to.end()
    // Who writes to somebody that has hung up for good is told so.
    else if (to.destroyed) reset(from)
    else to.write(parcel)
  }

  from.on('data', take)
  from.on('end', () => take('end'))
  from.on('error', () => take('reset'))
  return pass
}

function reset(socket: net.Socket) {
  // One that still connects would first wait until it has.
  if (socket.connecting) socket.destroy()
  else socket.resetAndDestroy()
}
