// The processes that serve one port together, seen from outside.
import { execFileSync } from 'node:child_process'
import http from 'node:http'
import { API_KEY, type OrderRequest } from './client'

/** Of the node that this process started. */
export function servingOf(pid: number): number[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  const rows = all.map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line)).filter((row) => row !== null)
  return rows
    .filter((row) => Number(row[2]) === pid && row[3]!.includes('serving-process'))
    .map((row) => Number(row[1]))
}

export const parentOf = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }))

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export interface Line {
  order(key: string, body: OrderRequest): Promise<{ status: number; replayed: boolean; body: string }>
  close(): void
}

/** One connection that is kept: whatever is sent over it reaches the same process. */
export function openLine(url: string): Line {
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
