// `npm run audit:verify`: does the audit log's chain hold? Ends with 0 if it does, with 1 and where it breaks if not, and
// with 2 where the store can't be asked.
import path from 'node:path'
import nextEnv from '@next/env'
import { type Break, type Verification, verifyAudit } from '../lib/audit/verify'
import { parseConfig } from '../lib/config'
import { openStore } from '../lib/db/store'
import { joinEmbedded } from './embedded-postgres'

const root = path.resolve(import.meta.dirname, '..')

const WHAT: Record<Break, string> = {
  changed: 'it was changed',
  missing: 'it is missing',
  inserted: 'it was inserted',
  not_chained: 'it was not written after the one before it',
  cut_off: 'it and all after it are cut off',
  head_missing: 'the chain’s head is missing, and nobody can tell whether there were more',
}

async function verify(): Promise<Verification> {
  nextEnv.loadEnvConfig(root, false, { info: () => {}, error: console.error })
  const { directDatabaseUrl } = parseConfig(process.env)
  const embedded = directDatabaseUrl ? undefined : await joinEmbedded(path.join(root, '.data'))
  try {
    const store = openStore(directDatabaseUrl ?? embedded!.url, { max: 1, applicationName: 'onceover-audit' })
    return await verifyAudit(store).finally(() => store.close())
  } finally {
    await embedded?.release()
  }
}

try {
  const { holds, entries, brokenAt, what, lastHash } = await verify()
  if (holds) console.log(`${entries} entries, the chain holds. Its last hash is ${lastHash}.`)
  else {
    console.error(`The chain breaks at entry ${brokenAt}: ${WHAT[what!]}.`)
    process.exitCode = 1
  }
} catch (error) {
  const { message, cause } = error as Error & { cause?: Error }
  console.error(`The audit log can't be read: ${cause?.message ?? message}`)
  process.exitCode = 2
}
