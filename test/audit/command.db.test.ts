// `npm run audit:verify`: its words and how it ends are what a cron job goes by.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Log, openLog, tamper, write } from './log'

const root = path.resolve(import.meta.dirname, '..', '..')
let log: Log
beforeAll(async () => {
  log = await openLog()
  await write(log.store, 3)
})
afterAll(() => log?.close())

async function command(databaseUrl: string): Promise<{ code: number; said: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', path.join(root, 'scripts', 'verify-audit.ts')], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', DATABASE_URL: databaseUrl },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const [code] = await once(child, 'close')
  return { code, said }
}

it('audit:verify exits with 0 and the number of entries when the chain holds, with 1 and the entry where it breaks', async () => {
  const held = await command(log.url)
  expect(held).toEqual({ code: 0, said: expect.stringMatching(/^3 entries, the chain holds\. .*[0-9a-f]{64}\.\n$/) })
  await tamper(log.db, `UPDATE audit_entries SET reason = 'another' WHERE seq = 2`)
  expect(await command(log.url)).toEqual({
    code: 1,
    said: 'The chain breaks at entry 2: it was changed.\n',
  })
}, 30_000)

it('audit:verify exits with 2 when the database is unreachable, and does not print its password', async () => {
  const url = new URL(log.url)
  url.password = 'the-password-of-the-store'
  url.port = '1'
  const { code, said } = await command(url.href)
  expect(code).toBe(2)
  expect(said).toMatch(/^The audit log can't be read: /)
  expect(said).not.toContain('the-password')
}, 30_000)
