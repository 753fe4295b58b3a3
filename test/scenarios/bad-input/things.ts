// What requests can name: things that are there, each of its own, so that nothing that is done to one of them hurts the
// tenant, the token or the person that the requests come from.
import { randomUUID } from 'node:crypto'
import { ADMIN_TOKEN, API_KEY, createClient, freshKey, type OrderView, orderBody, send } from '../../support/client'
import { addTenant, runSql } from '../../support/tenant'

export async function makeThings(url: string, databaseUrl: string): Promise<Record<string, string>> {
  const admin = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
    const made = await send(new URL(`/api/admin/${path}`, url), { method: 'POST', headers, body })
    if (made.status !== 201) throw new Error(`${path}: ${made.status} ${made.bytes}`)
    return made.json<{ id: string; secret: string }>()
  }
  const client = createClient(url)
  const used = freshKey()
  // Large enough that any number of small refunds leaves some of it.
  const items = [{ sku: 'SKU-1', quantity: 20, unitPriceCents: 100_000_000 }]
  const order = (await client.order(used, orderBody({ items }))).json<OrderView>()
  const refund = (await client.refund(order.id, freshKey(), { amountCents: 1 })).json<{ id: string }>()
  const revoked = await addTenant(databaseUrl)
  const other = await createClient(url, revoked.apiKey).order(freshKey(), orderBody())
  await runSql(databaseUrl, 'UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1', [revoked.id])
  const tenant = await admin('tenants', { name: 'decoy' })
  const [record] = await runSql<{ id: string }>(databaseUrl, 'SELECT id FROM idempotency_records WHERE key = $1', [
    used,
  ])
  const discrepancy = `dis_${randomUUID().replaceAll('-', '')}`
  await runSql(databaseUrl, `INSERT INTO discrepancies (id, kind, subject, detail) VALUES ($1, 'fuzz', 'fuzz', '{}')`, [
    discrepancy,
  ])
  return {
    'api-key': API_KEY,
    'admin-token': ADMIN_TOKEN,
    'viewer-token': (await admin('tokens', { name: 'reads', role: 'viewer' })).secret,
    'revoked-key': revoked.apiKey,
    'used-key': used,
    order: order.id,
    payment: order.payment!.id,
    refund: refund.id,
    'other-order': other.json<OrderView>().id,
    record: record!.id,
    run: (await admin('sweeper/runs', { dryRun: true })).id,
    tenant: tenant.id,
    key: (await admin(`tenants/${tenant.id}/api-keys`, { name: 'decoy' })).id,
    operator: (await admin('operators', { name: 'Decoy', email: 'decoy@example.com', role: 'viewer' })).id,
    token: (await admin('tokens', { name: 'decoy', role: 'viewer' })).id,
    discrepancy,
  }
}
