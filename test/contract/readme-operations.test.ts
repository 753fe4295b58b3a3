// The README's Operations section is run as it stands: in one shell, block by block, as a reader would paste it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_TOKEN, freshKey, orderBody, send } from '../support/client'
import { openSite, type Site } from '../support/site'
import { runSql } from '../support/tenant'

const root = path.resolve(import.meta.dirname, '..', '..')
const SECTION =
  readFileSync(path.join(root, 'README.md'), 'utf8')
    .split(/^## Operations$/m)[1]
    ?.split(/^## /m)[0] ?? ''
const BLOCKS = [...SECTION.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block!)
const MARK = '--- block'

let site: Site
beforeAll(async () => {
  site = await openSite()
  // What an operator would find on a bad day: outcomes that nobody knows, and something that does not fit.
  await site.client.order(freshKey(), orderBody())
  for (let count = 0; count < 2; count++) {
    const lost = await site.client.order(freshKey(), orderBody({ paymentMethod: 'pm_unreachable' }))
    expect(lost.status).toBe(504)
  }
  await runSql(
    site.databaseUrl,
    `INSERT INTO discrepancies (id, kind, subject, detail) VALUES ($1, 'not_in_ledger', 'ch_1041', '{}')`,
    [`dis_${'0'.repeat(26)}`],
  )
})
afterAll(() => site?.close())

async function paste(blocks: readonly string[]): Promise<{ code: number; output: string }> {
  const script = ['set -euo pipefail', ...blocks.map((block, index) => `echo '${MARK} ${index + 1}'\n${block}`)]
  const shell = spawn('bash', ['-c', script.join('\n')], {
    cwd: root,
    env: {
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`,
      HOME: process.env.HOME,
      NODE_ENV: 'production',
      ONCEOVER_URL: site.url,
      OPERATOR_TOKEN: ADMIN_TOKEN,
      DATABASE_URL: site.databaseUrl,
    },
  })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const [code] = await once(shell, 'close')
  return { code, output }
}

test('every block of it works, and every call in it is answered with a 2xx', async () => {
  expect(BLOCKS.length).toBeGreaterThan(5)
  // curl ends with an error for anything but a 2xx only where it is told to.
  for (const [command] of SECTION.matchAll(/\bcurl\b[^\n]*/g)) expect(command).toMatch(/^curl -f/)
  const { code, output } = await paste(BLOCKS)
  expect({ code, last: code === 0 ? '' : output.slice(output.lastIndexOf(MARK)) }).toEqual({ code: 0, last: '' })
  expect(output.split(MARK)).toHaveLength(BLOCKS.length + 1)
  expect(output).toMatch(/\d+ entries, the chain holds/)
})

test('a call that is refused ends it', async () => {
  const { code } = await paste([BLOCKS[0]!, 'oo GET keys/idem_00000000000000000000000000', 'echo went on'])
  expect(code).not.toBe(0)
})

test('what it did is in the audit log', async () => {
  const answer = await send(`${site.url}/api/admin/audit`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  expect(answer.status).toBe(200)
  const log = answer.bytes.toString()
  for (const action of ['key.resolve', 'key.expire', 'discrepancy.close', 'tenant.create', 'api_key.revoke'])
    expect(log).toContain(`"${action}"`)
})

test('it shows every call that the operator API has', async () => {
  const { paths } = (await send(`${site.url}/api/openapi.json`)).json<{ paths: Record<string, object> }>()
  const shown = SECTION.replaceAll(/"?\$\w+"?/g, '{id}')
  const missing = Object.keys(paths)
    .filter((name) => name.startsWith('/api/admin/'))
    .filter((name) => !shown.includes(name.replace('/api/admin/', '').replaceAll(/\{\w+\}/g, '{id}')))
  expect(missing).toEqual([])
})
