// Prisma on the store's own connections, for what is not on the way of a request: typed, and in UTC like the rest.
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client'
import type { Store } from './store'

export type { Prisma } from './generated/client'

export const openPrisma = (store: Pick<Store, 'pool'>): PrismaClient =>
  new PrismaClient({ adapter: new PrismaPg(store.pool) })
