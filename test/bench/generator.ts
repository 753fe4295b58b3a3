// Load made by Node, in a process of its own: at a constant rate, where each request is timed from the moment at which
// it was due and not from when it could be sent (a server that stalls can't hide those that had to wait), or, where there
// is no wrk, as fast as the answers come. Usage: generator.ts <a Task as JSON>. Prints a Load as JSON.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Load, Task } from './load'

const task: Task = JSON.parse(process.argv[2]!)
const agent = new http.Agent({ keepAlive: true, maxSockets: task.connections })
const tookMs: number[] = []
const failed: Load['failed'] = {}
let { first: number } = task

const startedAt = performance.now()
const endsAt = startedAt + task.seconds * 1000
if (task.rate === null) await Promise.all(Array.from({ length: task.connections }, closedLoop))
else await constantRate(task.rate)
const load: Load = {
  requests: tookMs.length,
  seconds: (performance.now() - startedAt) / 1000,
  failed,
  p50Ms: percentile(0.5),
  p99Ms: percentile(0.99),
}
console.log(JSON.stringify(load))
agent.destroy()

async function closedLoop(): Promise<void> {
  while (performance.now() < endsAt) await order(performance.now())
}

async function constantRate(rate: number): Promise<void> {
  const underWay: Promise<void>[] = []
  const count = Math.floor(rate * task.seconds)
  for (let sent = 0; sent < count; await sleep(1))
    for (; sent < count && startedAt + (sent / rate) * 1000 <= performance.now(); sent++)
      underWay.push(order(startedAt + (sent / rate) * 1000))
  await Promise.all(underWay)
}

function order(dueAt: number): Promise<void> {
  number = task.size > 0 ? (number + 1) % task.size : number + 1
  const digits = String(number).padStart(8, '0')
  const body = task.body.replace('$', digits)
  return new Promise((resolve) => {
    const headers = { ...task.headers, 'content-length': body.length, 'idempotency-key': task.prefix + digits }
    const over = (ended: string) => {
      tookMs.push(performance.now() - dueAt)
      if (ended !== '201') failed[ended] = (failed[ended] ?? 0) + 1
      resolve()
    }
    const request = http.request(task.url, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => over(String(response.statusCode)))
    })
    request.on('error', ({ message }) => over(message))
    request.end(body)
  })
}

function percentile(p: number): number {
  tookMs.sort((a, b) => a - b)
  return tookMs[Math.floor(p * (tookMs.length - 1))] ?? Number.NaN
}
