// The first tenant, its API key and the first admin, made when they are missing. Several nodes may start at once on
// an empty database: an advisory lock lets one of them do it. A secret is returned by the one start that made it.
import { setTimeout as sleep } from 'node:timers/promises'
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

/** On a busy machine other nodes take their time; a node that died has lost its lock with its connection. */
const TURN_LIMIT_MS = 60_000
const PAUSE_MS = 100

export interface FirstSecrets {
  /** Null when it was there already, or was given by the environment. */
  apiKey: string | null
  admin: { email: string; password: string } | null
}

export async function bootstrap(store: Store, settings: Config): Promise<FirstSecrets> {
  await sessionSecret(store, settings.authSecret)
  const prisma = openPrisma(store)
  for (const giveUpAt = performance.now() + TURN_LIMIT_MS; performance.now() < giveUpAt; await sleep(PAUSE_MS)) {
    const made = await prisma.$transaction(async (tx) => {
      const [lock] = await tx.$queryRaw<{ taken: boolean }[]>`
        SELECT pg_try_advisory_xact_lock(${BOOTSTRAP_LOCK}) AS taken`
      return lock!.taken ? { apiKey: await firstApiKey(tx, settings), admin: await firstAdmin(tx, settings) } : null
    })
    if (made) return made
  }
  throw new Error('another node has been making the first tenant for a minute')
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
