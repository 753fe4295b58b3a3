// Prisma on the store's own connections, for what is not on the way of a request: typed, and in UTC like the rest.
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client'
import type { Store } from './store'

export type { Prisma } from './generated/client'

/** One for each pool: every other one would listen to the pool for as long as that is open. */
const clients = new WeakMap<Store['pool'], PrismaClient>()

export function openPrisma({ pool }: Pick<Store, 'pool'>): PrismaClient {
  const client = clients.get(pool) ?? new PrismaClient({ adapter: new PrismaPg(pool) })
  clients.set(pool, client)
  return client
}
