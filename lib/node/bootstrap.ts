// The first tenant, its API key and the first admin, made when they are missing. Several nodes may start at once on
// an empty database: an advisory lock lets one of them do it. A secret is returned by the one start that made it.
import { hashPassword } from 'better-auth/crypto'
import type { Config } from '../config'
import { newId } from '../db/id'
import { openPrisma, type Prisma } from '../db/prisma'
import type { Store } from '../db/store'
import { newPassword } from '../operators/people'
import { sessionSecret } from '../operators/session-secret'
import { hashSecret, newSecret } from '../secret'

/** Any number, as long as nothing else in the database uses it. */
const BOOTSTRAP_LOCK = 7_306_501

/** Prisma gives up after five seconds, and the connection after six; on a busy machine a node waits longer for the lock. */
const TURN_LIMIT_MS = 60_000

export interface FirstSecrets {
  /** Null when it was there already, or was given by the environment. */
  apiKey: string | null
  admin: { email: string; password: string } | null
}

export async function bootstrap(store: Store, settings: Config): Promise<FirstSecrets> {
  await sessionSecret(store, settings.authSecret)
  return openPrisma(store).$transaction(
    async (tx) => {
      for (const limit of ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'])
        await tx.$executeRaw`SELECT set_config(${limit}, ${String(TURN_LIMIT_MS)}, true)`
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${BOOTSTRAP_LOCK})`
      return { apiKey: await firstApiKey(tx, settings), admin: await firstAdmin(tx, settings) }
    },
    { timeout: TURN_LIMIT_MS, maxWait: TURN_LIMIT_MS },
  )
}

async function firstApiKey(tx: Prisma.TransactionClient, settings: Config): Promise<string | null> {
  const demo =
    (await tx.tenant.findUnique({ where: { name: 'demo' }, include: { apiKeys: true } })) ??
    (await tx.tenant.create({ data: { id: newId('ten'), name: 'demo' }, include: { apiKeys: true } }))
  if (demo.apiKeys.length > 0 && !settings.demoApiKey) return null
  const secret = settings.demoApiKey ?? newSecret('oo_demo')
  const hash = Uint8Array.from(hashSecret(secret))
  // A key that was given by the environment and revoked since stays revoked.
  const known = await tx.apiKey.findUnique({ where: { hash } })
  if (!known) await tx.apiKey.create({ data: { id: newId('key'), tenantId: demo.id, name: 'first key', hash } })
  return settings.demoApiKey ? null : secret
}

async function firstAdmin(tx: Prisma.TransactionClient, settings: Config): Promise<FirstSecrets['admin']> {
  if (await tx.operator.findFirst({ where: { role: 'admin' } })) return null
  const email = (settings.adminEmail ?? 'admin@onceover.local').toLowerCase()
  const password = settings.adminPassword ?? newPassword()
  const id = newId('opr')
  await tx.operator.create({
    data: {
      id,
      name: 'First admin',
      email,
      emailVerified: true,
      role: 'admin',
      accounts: {
        create: { id: newId('acc'), accountId: id, providerId: 'credential', password: await hashPassword(password) },
      },
    },
  })
  return settings.adminPassword ? null : { email, password }
}
