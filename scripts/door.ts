// The port of several processes. One process owns it and gives each connection, unread, to the process that has the
// fewest; so the port stays ours whoever dies, and kept-alive connections are spread evenly. A connection is let go of
// only when its process says that it took it: one that was on its way to a process that died goes to another.
//
// node:cluster forgets a connection that is on its way to a process that dies: its client waits for ever.
import net, { type AddressInfo, type Socket } from 'node:net'
import { bind } from './http-server'

export interface Door {
  readonly port: number
  /** From now on a process gets connections: `give` sends one over, and the seat hears what becomes of it. */
  admit(give: (connection: number, socket: Socket) => void): Seat
  /** Lets nobody in any more. What is on its way to a process still arrives. */
  close(): void
}

export interface Seat {
  took(connection: number): void
  /** It does not take any more. */
  refused(connection: number): void
  /** A connection that it took has ended. */
  ended(): void
  leave(): void
}

interface Place {
  give(connection: number, socket: Socket): void
  open: number
  onTheWay: Map<number, Socket>
}

export async function openDoor(wantedPort: number): Promise<Door> {
  // In the order in which they were given something last: where several have the fewest, it is the first one's turn.
  const places = new Set<Place>()
  const waiting = new Set<Socket>()
  let closed = false
  let count = 0

  function give(socket: Socket): void {
    if (closed) return void socket.destroy()
    const [place] = [...places].sort((a, b) => a.open - b.open)
    if (!place) return void waiting.add(socket)
    places.delete(place)
    places.add(place)
    place.open++
    const connection = ++count
    place.onTheWay.set(connection, socket)
    place.give(connection, socket)
  }

  function seatOf(place: Place): Seat {
    const arrived = (connection: number) => {
      const socket = place.onTheWay.get(connection)
      place.onTheWay.delete(connection)
      return socket
    }
    return {
      // Closes only our end of it: whoever took it has its own.
      took: (connection) => void arrived(connection)?.destroy(),
      refused(connection) {
        place.open--
        const socket = arrived(connection)
        // Or it would be offered to the same one again.
        places.delete(place)
        if (socket) give(socket)
      },
      ended() {
        place.open--
      },
      leave() {
        places.delete(place)
        for (const socket of place.onTheWay.values()) give(socket)
        place.onTheWay.clear()
      },
    }
  }

  // What Node's HTTP server does with its own connections. Paused, so that whoever takes one is the first to read.
  const server = net.createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    // A client that has gone is noticed by whoever takes it.
    socket.on('error', () => {})
    give(socket)
  })
  await bind(server, wantedPort)
  return {
    port: (server.address() as AddressInfo).port,
    admit(give_) {
      const place: Place = { give: give_, open: 0, onTheWay: new Map() }
      places.add(place)
      const early = [...waiting]
      waiting.clear()
      for (const socket of early) give(socket)
      return seatOf(place)
    },
    close() {
      closed = true
      server.close()
      for (const socket of waiting) socket.destroy()
    },
  }
}
