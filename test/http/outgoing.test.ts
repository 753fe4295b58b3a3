// A node calls nobody but its database, the payment provider, and itself. No request names an address that is then
// called: each file that opens a connection is known, with who decides where it leads.
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ROOT, read } from '../docs/pages'

const OPENS: Record<string, string> = {
  'lib/payments/stripe-transport.ts': 'STRIPE_API_URL, of the environment',
  'lib/payments/sandbox-webhooks.ts': 'the node itself: lib/node/start.ts names the loopback address and its own port',
  'lib/traffic/send.ts':
    'the node itself, named by lib/node/operator-services.ts; a person’s argument in scripts/traffic.ts',
}

const CALLS = /from 'node:(?:http|https|http2|net|tls|dgram|dns(?:\/promises)?)'|(?<!\.)\bfetch\(|new WebSocket\(/
/** Types, tables and what only reads addresses open nothing, and a browser that fetches a path of this site asks us. */
const HARMLESS =
  /^import type .*$|^import \{ STATUS_CODES \} from 'node:http'$|^import \{ BlockList, isIPv4, isIPv6 \} from 'node:net'$|\bfetch\('\/(?!\/)[^']*'\)/gm
/** Generated, or an example that a page shows. */
const NOT_OURS = ['lib/db/generated/', 'app/docs/_examples/']

function opening(): string[] {
  return ['lib', 'app'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file}`)
      .filter((file) => /\.tsx?$/.test(file) && !NOT_OURS.some((folder) => file.startsWith(folder)))
      .filter((file) => CALLS.test(read(file).replace(HARMLESS, ''))),
  )
}

it('only the listed source files open outgoing connections', () => {
  expect(opening().toSorted()).toEqual(Object.keys(OPENS).toSorted())
})

it('a node that calls itself does so by the loopback address', () => {
  for (const file of ['lib/node/start.ts', 'lib/node/operator-services.ts'])
    expect([...read(file).matchAll(/`https?:\/\/([^/:`]+)/g)].map(([, host]) => host)).toEqual(['127.0.0.1'])
})
