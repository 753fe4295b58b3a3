// Clients that generators make of the document that a node serves. They are compiled, and used against the node.
// Their packages are installed into a copy: what they need is no dependency of the product.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_KEY, freshKey, send } from '../support/client'
import { openSite, type Site } from '../support/site'
import type { Task, Transcript } from './generators/transcript'

const SOURCES = path.join(import.meta.dirname, 'generators')
/** By the strictest common setting, `strict`: with the TypeScript that the generators ask for, and with the product's. */
const COMPILERS = { 'TypeScript 5': 'node_modules/typescript', 'TypeScript 7': path.resolve('node_modules/typescript') }
const CLIENTS = ['openapi-fetch', 'hey-api', 'orval'] as const
/** It writes a file for each named type: whoever reads a client that it made has so many to open. */
const MOST_FILES_OF_ORVAL = 234

const execute = promisify(execFile)

let site: Site
let folder: string
beforeAll(async () => {
  site = await openSite()
  folder = await mkdtemp(path.join(tmpdir(), 'onceover-generators-'))
  await cp(SOURCES, folder, { recursive: true })
  await run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
  const { bytes } = await send(`${site.url}/api/openapi.json`)
  await writeFile(path.join(folder, 'openapi.json'), bytes)
  await run('node_modules/.bin/openapi-typescript', 'openapi.json', '--output', 'generated/openapi-typescript.d.ts')
  await run('node_modules/.bin/openapi-ts', '--input', 'openapi.json', '--output', 'generated/hey-api')
  await run('node_modules/.bin/orval', '--config', 'orval.config.ts')
})
afterAll(async () => {
  await site?.close()
  if (folder) await rm(folder, { recursive: true })
})

/** What it printed is part of the error where it fails. */
const run = (file: string, ...args: string[]) =>
  execute(file, args, { cwd: folder }).catch(({ message, stdout }) => {
    throw new Error(`${message}\n${stdout}`)
  })

describe('the clients that generators make of the OpenAPI document', () => {
  it.each(Object.entries(COMPILERS))('compile under strict with %s, with the programs that use them', async (_, at) => {
    await run(process.execPath, path.join(at, 'bin', 'tsc'), '--project', '.')
  })

  it(`are at most ${MOST_FILES_OF_ORVAL} files with orval`, async () => {
    const entries = await readdir(path.join(folder, 'generated', 'orval'), { recursive: true, withFileTypes: true })
    expect(entries.filter((entry) => entry.isFile()).length).toBeLessThanOrEqual(MOST_FILES_OF_ORVAL)
  })

  it.each(CLIENTS)('place, replay, read, refuse and accept an order: %s', async (name) => {
    const program: { run(task: Task): Promise<Transcript> } = await import(path.join(folder, `${name}.ts`))
    const keys = { placed: freshKey(), accepted: freshKey() }
    const { placed, replay, read, problem, accepted } = await program.run({ url: site.url, apiKey: API_KEY, keys })
    expect(placed).toEqual({ status: 201, id: expect.stringMatching(/^ord_/), replayed: false })
    expect(replay).toEqual({ ...placed, replayed: true })
    expect(read).toEqual({ id: placed.id, status: 'paid', amountCents: 2500 })
    expect(problem).toEqual({ status: 422, code: 'idempotency_key_reused', sameKey: false })
    expect(accepted).toEqual({ status: 202, state: 'pending' })
  })
})
