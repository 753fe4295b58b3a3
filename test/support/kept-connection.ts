// A client that sends one order after the other over one connection, which it keeps.
import http from 'node:http'
import { API_KEY, type OrderRequest } from './client'

export interface KeptConnection {
  order(key: string, body: OrderRequest): Promise<{ status: number; replayed: boolean; body: string }>
  close(): void
}

export function keepConnection(url: string): KeptConnection {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  return {
    order: (key, body) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${API_KEY}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        }
        const request = http.request(`${url}/api/orders`, { method: 'POST', agent, headers }, async (response) => {
          const text = (await response.toArray()).join('')
          const replayed = response.headers['idempotent-replayed'] === 'true'
          resolve({ status: response.statusCode ?? 0, replayed, body: text })
        })
        request.on('error', reject)
        request.end(JSON.stringify(body))
      }),
    close: () => agent.destroy(),
  }
}
