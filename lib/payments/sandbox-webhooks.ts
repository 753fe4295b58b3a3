// The sandbox reports its entries over HTTP, as a provider out there would: each until it was taken in with a 2xx,
// signed, from whichever worker node is free. A node that stops leaves the rest to the others.

import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { log } from '../log'
import { eventOf, SANDBOX_SIGNATURE_HEADER } from './sandbox-webhooks-event'
import { type DueReport, markDelivered, putOffReport, takeDueReports } from './sandbox-webhooks-outbox'
import { signPayload } from './webhook-signature'

/** Deliveries at the same time. */
const BATCH = 20
const DELIVERY_LIMIT_MS = 10_000
/** How often a node looks for what is due: about as often as the delay itself. */
const SHORTEST_LOOK_MS = 50
const LONGEST_LOOK_MS = 1000

export interface SandboxWebhooks {
  /** The sandbox's own connections. */
  pool: Pool
  delayMs: number
  secret(): Promise<string>
  /** Asked at each delivery: the port is known only once the server listens. */
  url(): string
}

/** Ends when the deliveries under way have; they are cut short. */
export function startSandboxWebhooks(webhooks: SandboxWebhooks): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const pauseMs = Math.min(Math.max(webhooks.delayMs, SHORTEST_LOOK_MS), LONGEST_LOOK_MS)
  const running = (async () => {
    while (!stopping.signal.aborted) {
      const taken = await deliverDue(webhooks, stopping.signal).catch((error) => {
        log().warn({ err: error }, 'the sandbox could not look for what it has to report')
        return 0
      })
      if (taken < BATCH) await sleep(pauseMs, undefined, stopping).catch(() => {})
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** How many were due, delivered or not. */
export async function deliverDue(webhooks: SandboxWebhooks, signal?: AbortSignal): Promise<number> {
  const due = await takeDueReports(webhooks.pool, BATCH)
  await Promise.all(due.map((report) => deliver(webhooks, report, signal)))
  return due.length
}

async function deliver(webhooks: SandboxWebhooks, report: DueReport, signal?: AbortSignal): Promise<void> {
  try {
    await ((await isTakenIn(webhooks, report, signal)) ? markDelivered : putOffReport)(webhooks.pool, report.id)
  } catch (error) {
    // It is due again when the hold is over; that it was delivered already does no harm.
    log().warn({ err: error, event: report.id }, 'the sandbox could not note how a report went')
  }
}

async function isTakenIn(webhooks: SandboxWebhooks, report: DueReport, signal?: AbortSignal): Promise<boolean> {
  const body = JSON.stringify(eventOf(report))
  const limit = AbortSignal.timeout(DELIVERY_LIMIT_MS)
  try {
    const signature = signPayload(body, await webhooks.secret(), Math.floor(report.takenAt.getTime() / 1000))
    const headers = { 'content-type': 'application/json', [SANDBOX_SIGNATURE_HEADER]: signature }
    const status = await post(webhooks.url(), headers, body, signal ? AbortSignal.any([signal, limit]) : limit)
    const takenIn = status >= 200 && status < 300
    if (!takenIn) log().warn({ event: report.id, status }, 'a sandbox webhook was not taken in')
    return takenIn
  } catch (error) {
    if (!signal?.aborted) log().warn({ err: error, event: report.id }, 'a sandbox webhook could not be delivered')
    return false
  }
}

/** Not `fetch`: it refuses some ports that a node may well be given, and Next puts its own in its place. */
function post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', headers, signal, agent: false }, (response) => {
      response.on('error', reject)
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.resume()
    })
    request.on('error', reject)
    request.end(body)
  })
}
