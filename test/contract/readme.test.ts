// The README's own words and commands, from the first order to a deployed node, as a newcomer would read and paste them.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { welcome } from '../../lib/node/welcome'
import { withClient } from '../../scripts/postgres-client'
import { ADMIN_TOKEN, API_KEY, freshKey, orderBody, SECRETS, send } from '../support/client'
import { blocksOf, commandsUnder, paste, pasteAndServe, readDoc } from '../support/documented'
import { openSite, SHORT_TIMES, type Site } from '../support/site'

const LOCAL = 'http://localhost:3000'
const NO_SECRETS = { apiKey: null, admin: null }

let site: Site
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site?.close())

const [ORDER, TRAFFIC] = commandsUnder('README.md', 'Send an order') as [string, string]
const order = () => paste([ORDER.replaceAll(LOCAL, site.url)], { ONCEOVER_API_KEY: API_KEY })

describe('the first start', () => {
  /** As the README prints it: what it leaves out is an ellipsis. */
  const printed = blocksOf('README.md')
    .find(({ language }) => language === 'text')!
    .text.trimEnd()
  const asPattern = (line: string) =>
    new RegExp(
      `^${line
        .split('…')
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('.*')}$`,
    )

  test('prints the welcome text that the README shows', () => {
    const made = { apiKey: 'oo_demo_made', admin: { email: 'admin@onceover.local', password: 'made up' } }
    const said = welcome(LOCAL, made, { demoApiKey: undefined }).trimEnd().split('\n').slice(1)
    const shown = printed.split('\n')
    const begins = shown.findIndex((line) => line.includes('Onceover is ready'))
    expect(shown.slice(begins)).toHaveLength(said.length)
    for (const [at, line] of said.entries()) expect(line).toMatch(asPattern(shown[begins + at]!))
  })

  test('announces installing and building in the README’s words', () => {
    const [installing, building] = printed.split('\n')
    expect(readDoc('scripts/install.mjs')).toContain(`'${installing}'`)
    expect(readDoc('scripts/build.ts')).toContain(`'${building}'`)
  })

  test('prints the README’s curl command with the API key in it', () => {
    const said = welcome(LOCAL, NO_SECRETS, { demoApiKey: API_KEY })
      .split('\n')
      .map((line) => line.trim())
    expect(said).toContain(ORDER.trim())
  })
})

describe('the README’s first order', () => {
  test('is a 201, and sent again is replayed byte for byte', async () => {
    const [first, again] = [await order(), await order()]
    for (const { output } of [first, again]) expect(output).toMatch(/^HTTP\/1.1 201 /m)
    expect(first.output).not.toMatch(/^idempotent-replayed/im)
    expect(again.output).toMatch(/^idempotent-replayed: true\r$/im)
    const bodyOf = ({ output }: { output: string }) => /^\{.*\}$/m.exec(output)?.[0]
    expect(bodyOf(first)).toContain('"status":"paid"')
    expect(bodyOf(again)).toBe(bodyOf(first))
  })

  test('sent again with another body is a 422', async () => {
    const other = ORDER.replaceAll(LOCAL, site.url).replace('pm_ok', 'pm_declined')
    const { output } = await paste([other], { ONCEOVER_API_KEY: API_KEY })
    expect(output).toMatch(/^HTTP\/1.1 422 /m)
  })

  test('is followed by sample traffic with successes and errors', async () => {
    const { code, tail, output } = await paste([TRAFFIC], { ONCEOVER_URL: site.url, ONCEOVER_API_KEY: API_KEY })
    expect({ code, tail }).toEqual({ code: 0, tail: '' })
    expect(output).toContain(`requests sent to ${site.url}`)
    for (const status of [201, 402, 409, 422, 503, 504])
      expect(output).toMatch(new RegExp(`^ {2}${status} {2}\\d+$`, 'm'))
  })
})

describe('the README’s deploy section', () => {
  const [migrate, serve, serveOnly, ready] = commandsUnder('README.md', 'Deploy') as [string, string, string, string]
  const name = `deploy_${randomBytes(6).toString('hex')}`
  let databaseUrl: string
  beforeAll(async () => {
    const serverUrl = inject('postgresUrl')
    await withClient(serverUrl, (client) => client.query(`CREATE DATABASE ${name}`))
    databaseUrl = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href
  })
  afterAll(() => withClient(inject('postgresUrl'), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`)))

  test('has four commands', () => {
    expect(commandsUnder('README.md', 'Deploy')).toHaveLength(4)
  })

  test('migrates a database, and starts ready nodes with and without a worker', async () => {
    const migrated = await paste([migrate], { DATABASE_URL: databaseUrl })
    expect({ code: migrated.code, tail: migrated.tail }).toEqual({ code: 0, tail: '' })

    const env = { ...SECRETS, ...SHORT_TIMES, DATABASE_URL: databaseUrl, PORT: '0' }
    const node = await pasteAndServe(serve, env)
    try {
      const other = await pasteAndServe(serveOnly, env)
      try {
        for (const { url } of [node, other]) expect((await paste([ready], { ONCEOVER_URL: url })).code).toBe(0)
        await expectOneFleet(node.url, other.url)
      } finally {
        await other.stop()
      }
    } finally {
      await node.stop()
    }
  })
})

/** What one node answered, the other replays; what is accepted by the one without a worker, the other's worker runs. */
async function expectOneFleet(worker: string, server: string): Promise<void> {
  const post = (url: string, key: string, headers: Record<string, string> = {}) =>
    send(`${url}/api/orders`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
        'idempotency-key': key,
        ...headers,
      },
      body: BODY,
    })
  const key = freshKey()
  expect((await post(worker, key)).status).toBe(201)
  expect((await post(server, key)).headers['idempotent-replayed']).toBe('true')
  expect((await post(server, freshKey(), { prefer: 'respond-async, wait=20' })).status).toBe(201)
  const { status } = await send(`${server}/api/admin/keys`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  expect(status).toBe(200)
}
const BODY = orderBody()
