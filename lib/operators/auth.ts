// better-auth on our own tables: it knows passwords and makes sessions. Nothing of its HTTP side is mounted, and whether
// a session is still good is asked of the store in one statement of ours (session.ts).
import { prismaAdapter } from 'better-auth/adapters/prisma'
import { betterAuth } from 'better-auth/minimal'
import { newId } from '../db/id'
import { openPrisma } from '../db/prisma'
import type { Store } from '../db/store'
import { hashSecret } from '../secret'

/** A working day: whoever does nothing for so long signs in again. */
export const SESSION_MS = 12 * 3_600_000
/** From the sign-in on, however often the session is used. */
export const LONGEST_SESSION_MS = 30 * 86_400_000
/** Until the sign-in is admitted, which replaces its token, the session of better-auth is good for nothing. */
const UNADMITTED_SECONDS = 60

/** As sessions are stored: who reads the database has no cookie. */
export const hashToken = (token: string): string => hashSecret(token).toString('hex')

export const openAuth = (store: Pick<Store, 'pool'>, secret: string) =>
  betterAuth({
    database: prismaAdapter(openPrisma(store), { provider: 'postgresql' }),
    // As a list: given alone, a variable of the environment would take precedence.
    secrets: [{ version: 1, value: secret }],
    user: { modelName: 'operator' },
    account: { modelName: 'operatorAccount', fields: { userId: 'operatorId' } },
    session: {
      modelName: 'operatorSession',
      fields: { userId: 'operatorId' },
      expiresIn: UNADMITTED_SECONDS,
      disableSessionRefresh: true,
    },
    databaseHooks: {
      session: { create: { before: async ({ token }) => ({ data: { token: hashToken(String(token)) } }) } },
    },
    emailAndPassword: { enabled: true, disableSignUp: true, minPasswordLength: 12, maxPasswordLength: 128 },
    advanced: {
      cookiePrefix: 'onceover',
      useSecureCookies: false,
      database: {
        // Sessions are all that it ever makes.
        generateId: () => newId('ses'),
        // Columns for what is not used, such as other providers' tokens, are not there.
        validateSchema: false,
      },
    },
    // It would tell the console of every wrong password, and its makers of our use of it.
    logger: { disabled: true },
    telemetry: { enabled: false },
  })

export type Auth = ReturnType<typeof openAuth>
