// The examples of the guide are files, and tests run them: what a reader copies is what was run. They are read from the
// checkout, where every node runs.
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const EXAMPLES = [
  'first-order.sh',
  'until-final.sh',
  'refund.sh',
  'later.sh',
  'onceover-client.ts',
  'pay-for-purchase.ts',
] as const

/** What HTTP clients that people already have need to be told; each is a program of its own. */
export const RETRIES = [
  'retries/curl.sh',
  'retries/got.mjs',
  'retries/axios-retry.mjs',
  'retries/ky.mjs',
  'retries/undici.mjs',
  'retries/Onceover.java',
  'retries/onceover_requests.py',
  'retries/onceover_httpx.py',
] as const
export type Retry = (typeof RETRIES)[number]
export type Example = (typeof EXAMPLES)[number] | Retry

export const exampleText = (name: Example): string =>
  readFileSync(path.join(process.cwd(), 'app', 'docs', '_examples', name), 'utf8').trimEnd()
