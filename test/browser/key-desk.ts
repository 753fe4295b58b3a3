// Two operators and a viewer at a real node, and keys in the situations that they are needed for.
import type { Browser, BrowserContext, Page } from '@playwright/test'
import { complaints, expect, type Person, signedIn, type Visit } from '../support/browser'
import { ADMIN_TOKEN, type Client, freshKey, type OrderRequest, orderBody, send } from '../support/client'
import { runSql } from '../support/tenant'

export interface Hired extends Person {
  id: string
  name: string
}

const PASSWORD = 'a password of the tests'

export async function hire(url: string, role: 'viewer' | 'operator' | 'admin', name: string): Promise<Hired> {
  const email = `${name.toLowerCase().replace(/\W/g, '.')}@example.com`
  const made = await send(new URL('/api/admin/operators', url), {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: { name, email, role, password: PASSWORD },
  })
  expect(made.status, String(made.bytes)).toBe(201)
  return { id: made.json<{ id: string }>().id, name, email, password: PASSWORD }
}

export interface Made {
  id: string
  key: string
  body: OrderRequest
  status: number
}

export interface Places {
  url: string
  databaseUrl: string
  client: Client
}

export async function place({ client, databaseUrl }: Places, changes: Partial<OrderRequest> = {}): Promise<Made> {
  const key = freshKey()
  const body = orderBody(changes)
  const { status } = await client.order(key, body)
  return { ...(await recordOf(databaseUrl, key)), key, body, status }
}

/** Nobody can ask the provider about it: a person's word stands by itself. */
export const placeUnknown = (places: Places, changes: Partial<OrderRequest> = {}): Promise<Made> =>
  place(places, { paymentMethod: 'pm_unreachable', ...changes })

export async function recordOf(databaseUrl: string, key: string) {
  const [row] = await runSql<{ id: string; state: string; version: number; response_status: number | null }>(
    databaseUrl,
    'SELECT id, state, version, response_status FROM idempotency_records WHERE key = $1',
    [key],
  )
  return row!
}

export const auditOf = (databaseUrl: string, target: string) =>
  runSql<{ actor_id: string; action: string; outcome: string; reason: string | null }>(
    databaseUrl,
    'SELECT actor_id, action, outcome, reason FROM audit_entries WHERE target = $1 ORDER BY seq',
    [target],
  )

export interface Desk {
  context: BrowserContext
  page: Page
  complaints: string[]
}

/** A person's own browser. */
export async function sit(browser: Browser, url: string, person: Person, visit: Visit = {}): Promise<Desk> {
  const context = await signedIn(browser, url, person, visit)
  const page = await context.newPage()
  return { context, page, complaints: complaints(page) }
}

export const dialogOf = (page: Page) => page.getByRole('dialog')
export const timeline = (page: Page) => page.getByRole('list', { name: 'Timeline' })
