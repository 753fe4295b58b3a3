// Ports are asked of the operating system, never guessed.
import net, { type AddressInfo } from 'node:net'

/** The preferred port when it is free on the loopback address, else any free one. */
export async function freePort(preferred = 0): Promise<number> {
  return (await probe(preferred)) ?? (await probe(0)) ?? fail()
}

function probe(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => {
      const found = (server.address() as AddressInfo).port
      server.close(() => resolve(found))
    })
  })
}

function fail(): never {
  throw new Error('no free port on 127.0.0.1.')
}
