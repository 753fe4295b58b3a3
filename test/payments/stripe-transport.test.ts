import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createStripe } from '../../lib/payments/stripe'
import { NoAnswer, openAgent, openTransport } from '../../lib/payments/stripe-transport'
import { openTimeLimit } from '../../lib/payments/time-limit'
import { CERTIFICATE, PRIVATE_KEY } from '../support/stripe-certificate'
import { answered, CHARGE, paymentIntent, startStripe } from '../support/stripe-server'

const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closing.splice(0)) await close()
})

async function serve(tls = false) {
  const server = await startStripe(tls ? { key: PRIVATE_KEY, cert: CERTIFICATE } : undefined)
  closing.push(() => server.close())
  server.reply(answered(paymentIntent()))
  return server
}

function limitOf(ms: number) {
  const limit = openTimeLimit(ms)
  closing.push(() => limit.close())
  return limit
}

type Api = Awaited<ReturnType<typeof startStripe>>['api']
const send = (transport: ReturnType<typeof openTransport>, { host, port, protocol }: Api) =>
  transport.makeRequest(host, String(port), '/v1/payment_intents', 'POST', {}, 'amount=1', protocol, 80_000)

describe('the Stripe transport over TLS', () => {
  it('gets answers and reuses its connection', async () => {
    const server = await serve(true)
    const agent = new https.Agent({ keepAlive: true, ca: CERTIFICATE })
    closing.push(() => agent.destroy())
    for (let n = 0; n < 3; n++) {
      const response = await send(openTransport(agent, limitOf(5_000)), server.api)
      expect(await response.toJSON()).toMatchObject({ id: 'pi_1' })
    }
    expect(server.seen).toHaveLength(3)
    expect(server.connections()).toBe(1)
  })

  it('sends nothing to a server with an untrusted certificate', async () => {
    const server = await serve(true)
    const gateway = createStripe({ secretKey: 'sk_test_1', timeLimitMs: 5_000, api: server.api })
    expect(await gateway.execute(CHARGE)).toEqual({ kind: 'not_executed', code: 'connection_refused' })
    expect(server.connections()).toBe(1)
    expect(server.seen).toHaveLength(0)
  })

  it('sends no request when the time limit ends during the TLS handshake', async () => {
    const mute = createServer()
    const received: Buffer[] = []
    mute.on('connection', (socket) => {
      socket.on('data', (chunk) => received.push(chunk))
      socket.on('error', () => {})
    })
    mute.listen(0, '127.0.0.1')
    await once(mute, 'listening')
    closing.push(() => mute.close())
    const api = { protocol: 'https', host: '127.0.0.1', port: (mute.address() as AddressInfo).port } as const
    const outcome = await createStripe({ secretKey: 'sk_test_1', timeLimitMs: 200, api }).execute(CHARGE)
    expect(outcome).toEqual({ kind: 'not_executed', code: 'connection_timeout' })
    // only the greeting of a handshake, which carries nothing of the request
    expect(received[0]?.[0]).toBe(0x16)
  })
})

describe('the Stripe transport of a process that slept past the time limit', () => {
  it('sends nothing when it was connecting, though its timer has not fired yet', async () => {
    const server = await serve()
    const agent = new http.Agent()
    const transport = openTransport(agent, limitOf(1_000))
    const sending = send(transport, server.api)
    const awake = Date.now()
    vi.spyOn(Date, 'now').mockReturnValue(awake + 3_600_000)
    await expect(sending).rejects.toMatchObject({ sent: false, reason: 'connection_timeout' })
    expect(server.seen).toHaveLength(0)
  })

  it('opens no connection when it had not begun to connect', async () => {
    const server = await serve()
    const transport = openTransport(new http.Agent(), limitOf(1_000))
    const awake = Date.now()
    vi.spyOn(Date, 'now').mockReturnValue(awake + 3_600_000)
    await expect(send(transport, server.api)).rejects.toMatchObject({ sent: false, reason: 'connection_timeout' })
    expect(server.connections()).toBe(0)
  })
})

describe('an abandoned Stripe call', () => {
  it('sends nothing any more', async () => {
    const server = await serve()
    const transport = openTransport(new http.Agent(), limitOf(5_000))
    const sending = send(transport, server.api)
    expect(transport.abandon()).toMatchObject({ sent: false, reason: 'connection_timeout' })
    await expect(sending).rejects.toBeInstanceOf(NoAnswer)
    await expect(send(transport, server.api)).rejects.toMatchObject({ sent: false })
    expect(server.seen).toHaveLength(0)
  })

  it('is rejected as sent when its request was already sent', async () => {
    const server = await serve()
    server.reply('silence')
    const transport = openTransport(new http.Agent(), limitOf(5_000))
    const sending = send(transport, server.api)
    await vi.waitFor(() => expect(server.seen).toHaveLength(1))
    expect(transport.abandon()).toMatchObject({ sent: true, reason: 'timeout' })
    await expect(sending).rejects.toMatchObject({ sent: true })
  })
})

it('the Stripe agent reuses a connection and closes it when it stays idle', async () => {
  const server = await serve()
  const agent = openAgent('http', 100)
  for (let n = 0; n < 3; n++) await send(openTransport(agent, limitOf(5_000)), server.api)
  expect([server.connections(), server.openConnections()]).toEqual([1, 1])
  await vi.waitFor(() => expect(server.openConnections()).toBe(0))
  await send(openTransport(agent, limitOf(5_000)), server.api)
  expect(server.connections()).toBe(2)
})
