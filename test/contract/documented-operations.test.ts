// docs/operations.md is run as it stands: in one shell, block by block, as a reader would paste it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_TOKEN, freshKey, orderBody, send } from '../support/client'
import { commandsUnder, paste, readDoc } from '../support/documented'
import { openSite, type Site } from '../support/site'
import { runSql } from '../support/tenant'

const TOOLS = commandsUnder('docs/runbooks.md', 'Before you begin')
const BLOCKS = [
  commandsUnder('docs/operations.md', 'Find keys'),
  commandsUnder('docs/operations.md', 'End a key before its time'),
  commandsUnder('docs/operations.md', 'Run accepted keys again'),
  commandsUnder('docs/operations.md', 'Look dead letters up again'),
  commandsUnder('docs/operations.md', 'Run a daemon now'),
  commandsUnder('docs/operations.md', 'Ask about many keys at once'),
  commandsUnder('docs/operations.md', 'What is going on'),
  commandsUnder('docs/operations.md', 'Who did what'),
  commandsUnder('docs/operations.md', 'Tenants and their API keys'),
  commandsUnder('docs/operations.md', 'People and tokens'),
  commandsUnder('docs/operations.md', 'Erase what a customer left'),
].flat()

let site: Site
let env: Record<string, string>
beforeAll(async () => {
  site = await openSite()
  env = { ONCEOVER_URL: site.url, OPERATOR_TOKEN: ADMIN_TOKEN, DATABASE_URL: site.databaseUrl }
  // What an operator would find on a bad day: outcomes that nobody knows, and something that does not fit.
  await site.client.order(freshKey(), orderBody())
  const lost = await site.client.order(freshKey(), orderBody({ paymentMethod: 'pm_unreachable' }))
  expect(lost.status).toBe(504)
  const refused = await site.client.order(freshKey(), orderBody({ paymentMethod: 'pm_refused_once' }))
  expect(refused.status).toBe(503)
  // As a long outage leaves them, the refused one as an accepted one.
  await runSql(
    site.databaseUrl,
    `ALTER TABLE idempotency_records DISABLE TRIGGER records_identity;
     UPDATE idempotency_records SET dead_lettered_at = clock_timestamp(), async = state = 'failed_retryable'
     WHERE state IN ('unknown', 'failed_retryable');
     ALTER TABLE idempotency_records ENABLE TRIGGER records_identity`,
  )
  await runSql(
    site.databaseUrl,
    `INSERT INTO discrepancies (id, kind, subject, detail) VALUES ($1, 'not_in_ledger', 'ch_1041', '{}')`,
    [`dis_${'0'.repeat(26)}`],
  )
})
afterAll(() => site?.close())

test('every command block of docs/operations.md works, and every call in it is answered with a 2xx', async () => {
  const { code, tail, output } = await paste([...TOOLS, ...BLOCKS], env)
  expect({ code, tail }).toEqual({ code: 0, tail: '' })
  expect(output).toMatch(/\d+ entries, the chain holds/)
})

test('a refused call ends the pasted commands of docs/operations.md and prints why', async () => {
  const { code, output } = await paste([...TOOLS, 'oo GET keys/idem_00000000000000000000000000', 'echo went on'], env)
  expect(code).not.toBe(0)
  expect(output).toContain('"code":"not_found"')
  expect(output).not.toContain('went on')
})

test('the commands of docs/operations.md leave their actions in the audit log', async () => {
  const answer = await send(`${site.url}/api/admin/audit`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  expect(answer.status).toBe(200)
  const log = answer.bytes.toString()
  for (const action of [
    'key.expire',
    'key.run_again',
    'key.resume',
    'discrepancy.close',
    'tenant.create',
    'api_key.revoke',
  ])
    expect(log).toContain(`"${action}"`)
})

test('docs/operations.md and docs/runbooks.md show every call of the operator API', async () => {
  const { paths } = (await send(`${site.url}/api/openapi.json`)).json<{ paths: Record<string, object> }>()
  const shown = (readDoc('docs/operations.md') + readDoc('docs/runbooks.md')).replaceAll(/"?\$\w+"?/g, '{id}')
  const missing = Object.keys(paths)
    .filter((name) => name.startsWith('/api/admin/'))
    .filter((name) => !shown.includes(name.replace('/api/admin/', '').replaceAll(/\{\w+\}/g, '{id}')))
  expect(missing).toEqual([])
})
