import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { migrateJobs } from '../../lib/jobs/worker'
import { manifestFile, rowsFile } from '../../scripts/database-folder'
import { dumpDatabase } from '../../scripts/dump-database'
import { loadDatabase } from '../../scripts/load-database'
import { withClient } from '../../scripts/postgres-client'
import { cloneDatabase, type TestDatabase } from '../support/database'
import { paste } from '../support/documented'
import { recordIn } from '../support/rows'

const root = path.resolve(import.meta.dirname, '..', '..')
const AUDIT = 'public.audit_entries'

let scratch: string
let source: TestDatabase
let empty: TestDatabase
let said: string[]
beforeAll(async () => {
  scratch = await mkdtemp(path.join(os.tmpdir(), 'onceover-dump-'))
  ;[source, empty] = await Promise.all([cloneDatabase(), cloneDatabase()])
  await migrateJobs(source.url)
  await withClient(source.url, async (client) => {
    for (const state of ['pending', 'completed', 'unknown'] as const) await recordIn(client, state)
    await client.query(
      `INSERT INTO audit_entries (actor_id, actor_name, action, target, outcome, request_id)
       SELECT 'opr_1', 'Ada', 'key.expire', 'idem_' || n, 'done', 'req' FROM generate_series(1, 50) n`,
    )
  })
})
afterAll(async () => {
  await Promise.all([source?.drop(), empty?.drop()])
  await rm(scratch, { recursive: true, force: true })
})
beforeEach(() => {
  said = []
})

const say = (line: string) => void said.push(line)
const nowhere = () => path.join(scratch, String(Math.random()).slice(2))
async function dumped(): Promise<string> {
  const folder = nowhere()
  await dumpDatabase({ url: source.url, folder, say })
  return folder
}
const loading = (folder: string, url = empty.url) => loadDatabase({ root, url, folder, say })
const countIn = (url: string) =>
  withClient(url, async (client) => {
    const { rows } = await client.query(
      `SELECT (SELECT count(*)::int FROM idempotency_records) AS records, (SELECT count(*)::int FROM audit_entries) AS audit,
         (SELECT seq::int FROM audit_head) AS head,
         (SELECT count(*)::int FROM pg_trigger WHERE tgenabled = 'D') AS disabled`,
    )
    return rows[0]
  })
const NOTHING = { records: 0, audit: 0, head: 0, disabled: 0 }

describe('db:dump', () => {
  it('writes files that only their owner may read', async () => {
    const folder = await dumped()
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    for (const file of await readdir(folder)) expect((await stat(path.join(folder, file))).mode & 0o777).toBe(0o600)
  })

  it('names each table that has rows, with how many', async () => {
    await dumped()
    expect(said).toContain('public.audit_entries: 50 rows')
    expect(said).toContain('public.idempotency_records: 3 rows')
  })

  it('refuses a folder that is there, and leaves it as it is', async () => {
    const folder = await dumped()
    const before = await readFile(manifestFile(folder))
    await expect(dumpDatabase({ url: source.url, folder, say })).rejects.toThrow('is there already')
    expect(await readFile(manifestFile(folder))).toEqual(before)
  })

  it('leaves nothing behind when it is stopped', async () => {
    const folder = nowhere()
    await expect(dumpDatabase({ url: source.url, folder, say, signal: AbortSignal.abort() })).rejects.toThrow()
    expect((await readdir(scratch)).filter((name) => name.startsWith(path.basename(folder)))).toEqual([])
  })

  it('ends with 1 and one line when it is refused', async () => {
    const folder = await dumped()
    const { code, output } = await paste([`npm run --silent db:dump -- '${folder}'`], { DATABASE_URL: source.url })
    expect(code).toBe(1)
    expect(output).toBe(`db:dump: ${folder} is there already\n`)
  })
})

describe('db:load', () => {
  it('refuses a database that has rows', async () => {
    const before = await countIn(source.url)
    await expect(loading(await dumped(), source.url)).rejects.toThrow('the database is not empty: public.')
    expect(await countIn(source.url)).toEqual(before)
  })

  it('refuses a folder that is no dump', async () => {
    await expect(loading(nowhere())).rejects.toThrow('is no dump: it has no manifest.json')
  })

  it.each([
    ['one that this release has not', (names: string[]) => names.push('20990101000000_later'), '20990101000000_later'],
    ['one less than this release', (names: string[]) => names.pop(), 'which the dump has not'],
  ])('refuses a dump with other migrations: %s', async (_, change, message) => {
    const folder = await dumped()
    const manifest = JSON.parse(await readFile(manifestFile(folder), 'utf8'))
    change(manifest.migrations)
    await writeFile(manifestFile(folder), JSON.stringify(manifest))
    await expect(loading(folder)).rejects.toThrow(message)
    expect(await countIn(empty.url)).toEqual(NOTHING)
  })

  it.each<[string, (file: string) => Promise<void>, string]>([
    ['is cut off', (file) => truncate(file, 100), 'unexpected end of file'],
    ['is missing', (file) => rm(file), 'has no file for public.audit_entries'],
    ['lacks a row', async (file) => writeFile(file, gzipSync(withoutFirstLine(await readFile(file)))), 'is damaged'],
    ['has another value', async (file) => writeFile(file, gzipSync(changed(await readFile(file)))), 'is damaged'],
  ])('refuses a dump with a file that %s, and loads nothing of it', async (_, damage, message) => {
    const folder = await dumped()
    await damage(rowsFile(folder, AUDIT))
    await expect(loading(folder)).rejects.toThrow(message)
    expect(await countIn(empty.url)).toEqual(NOTHING)
  })

  it('loads nothing when it is stopped', async () => {
    const task = { root, url: empty.url, folder: await dumped(), say, signal: AbortSignal.abort() }
    await expect(loadDatabase(task)).rejects.toThrow()
    expect(await countIn(empty.url)).toEqual(NOTHING)
  })

  // The last one, because the database has rows from then on.
  it('loads all rows and switches all triggers on again', async () => {
    await loading(await dumped())
    expect(await countIn(empty.url)).toEqual({ ...(await countIn(source.url)), disabled: 0 })
  })
})

const withoutFirstLine = (file: Buffer): Buffer => {
  const rows = gunzipSync(file)
  return rows.subarray(rows.indexOf('\n') + 1)
}
const changed = (file: Buffer): string => gunzipSync(file).toString().replace('Ada', 'Eve')
