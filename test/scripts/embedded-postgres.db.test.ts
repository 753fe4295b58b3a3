// The shared database lives exactly as long as somebody is there, and whatever was cut short is put right.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { joinEmbedded } from '../../scripts/embedded-postgres'
import { withClient } from '../../scripts/postgres-client'
import { guard } from '../support/postgres'

let folder: string
let clearAway: () => void
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-embedded-'))
  clearAway = guard(folder)
})
afterAll(() => clearAway())

const pidFile = () => path.join(folder, 'postgres', 'postmaster.pid')
const pid = async () => Number((await readFile(pidFile(), 'utf8')).split('\n')[0])
const ask = (url: string, sql: string) => withClient(url, async (client) => (await client.query(sql)).rows)

async function untilDead(process_: number): Promise<void> {
  // A dead process that its parent has not yet collected is dead all the same.
  const state = () =>
    readFile(`/proc/${process_}/stat`, 'utf8').then(
      (text) => text.split(') ')[1]?.[0],
      () => 'X',
    )
  await expect.poll(state).toMatch(/[XZ]/)
}

it('the embedded database is created on the first start, also over the leftovers of an interrupted start', async () => {
  await mkdir(path.join(folder, 'postgres.new-left', 'data'), { recursive: true })
  await writeFile(path.join(folder, 'postgres.json'), '{ "password": "of nothing" }')
  const node = await joinEmbedded(folder)
  expect(await ask(node.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
  await ask(node.url, 'CREATE TABLE kept AS SELECT 1 AS n')
  await node.release()
  expect((await readdir(folder)).sort()).toEqual(['postgres', 'postgres.json', 'postgres.log'])
})

it('the embedded database is shared by two nodes and stops when the last one leaves', async () => {
  const [first, second] = await Promise.all([joinEmbedded(folder), joinEmbedded(folder)])
  expect(first.url).toBe(second.url)
  await first.release()
  expect(await ask(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }])
  await second.release()
  expect(existsSync(pidFile())).toBe(false)
})

it('the embedded database comes back on its former port, or on another when that is taken', async () => {
  const { port } = JSON.parse(await readFile(path.join(folder, 'postgres.json'), 'utf8'))
  const again = await joinEmbedded(folder)
  expect(new URL(again.url).port).toBe(String(port))
  await again.release()
  const rival = net.createServer().listen(port, '127.0.0.1')
  const elsewhere = await joinEmbedded(folder)
  expect(new URL(elsewhere.url).port).not.toBe(String(port))
  await elsewhere.release()
  rival.close()
})

it('the embedded database is restarted by the next node after it was killed, and serves the first node again', async () => {
  const before = await joinEmbedded(folder)
  const killed = await pid()
  process.kill(killed, 'SIGKILL')
  await untilDead(killed)
  const after = await joinEmbedded(folder)
  expect(await ask(after.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }])
  // The first node's place is taken again as well, or the second one would stop the server under it.
  const nodes = "SELECT FROM pg_stat_activity WHERE application_name = 'onceover-node'"
  await expect.poll(async () => (await ask(after.url, nodes)).length).toBe(2)
  await after.release()
  expect(await ask(before.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }])
  await before.release()
  expect(existsSync(pidFile())).toBe(false)
})

it('the embedded database starts although the process id in its pid file belongs to another program', async () => {
  await writeFile(pidFile(), `${process.pid}\n${path.dirname(pidFile())}\n0\n1\n\n127.0.0.1\n`)
  const node = await joinEmbedded(folder)
  expect(await ask(node.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }])
  await node.release()
})
