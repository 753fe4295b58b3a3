// Everybody who takes part, and how each is served. All of them use one PostgreSQL server with the durability that it
// comes with, each in a database of its own.
import path from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { freePort } from '../../scripts/port'
import { SECRETS } from '../support/client'
import type { HANDLERS } from './handlers'
import { buildNextApp, NEXT, NEXT_APP } from './next-host'
import { type Program, startProgram } from './program'
import type { REDIS_HANDLERS } from './redis-handlers'

interface Places {
  databaseUrl: string
  /** Null where there is no redis-server. */
  redisUrl: string | null
}

interface ContenderKind {
  title: string
  /** Has the lean order's tables. */
  unguarded?: boolean
  needsRedis?: boolean
  start(places: Places): Promise<Program>
}

type HandlerName = keyof typeof HANDLERS | keyof typeof REDIS_HANDLERS

/**
 * What `npm start` runs: Node's own settings first, then our program. The others get the same settings, except on
 * `next start`, where ours does without them as well.
 */
const START = manifest.scripts.start.split(' ').slice(1)
const SETTINGS = START.slice(0, -1)

const hosted = (handler: HandlerName) => ({
  unguarded: true,
  start: ({ databaseUrl, redisUrl }: Places) =>
    startProgram([...SETTINGS, '--import', 'tsx', path.join(import.meta.dirname, 'hosts', 'plain.ts'), handler], {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl ?? '',
    }),
})

const onOurHost = (handler: keyof typeof HANDLERS) => ({
  unguarded: true,
  async start({ databaseUrl }: Places) {
    await buildNextApp()
    return startProgram([...SETTINGS, '--import', 'tsx', path.join(import.meta.dirname, 'hosts', 'direct.ts')], {
      DATABASE_URL: databaseUrl,
      HANDLER: handler,
    })
  },
})

const onNext = (handler: keyof typeof HANDLERS) => ({
  unguarded: true,
  async start({ databaseUrl }: Places) {
    await buildNextApp()
    const port = String(await freePort())
    return startProgram([NEXT, 'start', NEXT_APP, '-p', port], { DATABASE_URL: databaseUrl, HANDLER: handler })
  },
})

const npmStart = (env: Record<string, string> = {}, flags: string[] = []) => ({
  start: ({ databaseUrl }: Places) =>
    startProgram([...flags, ...START], {
      DATABASE_URL: databaseUrl,
      PORT: '0',
      ...SECRETS,
      ...env,
    }),
})

/** Collects garbage and tells its memory when it is asked. */
const WEIGHABLE = ['--expose-gc', '--import', path.join(import.meta.dirname, 'hosts', 'weighable.mjs')]

const CONTENDERS = {
  constant: { title: 'a constant answer on plain `node:http`', ...hosted('constant') },
  unguarded: { title: 'the lean unguarded order on plain `node:http` and `pg`', ...hosted('unguarded') },
  nodeIdempotency: {
    title: 'node-idempotency + Redis around that order',
    needsRedis: true,
    ...hosted('nodeIdempotency'),
  },
  powertools: { title: 'Powertools + Redis around that order', needsRedis: true, ...hosted('powertools') },
  ours: { title: 'ours, `npm start`', ...npmStart() },
  constantOnOurHost: { title: "a constant answer on `npm start`'s server", ...onOurHost('constant') },
  unguardedOnOurHost: { title: "the lean unguarded order on `npm start`'s server", ...onOurHost('unguarded') },
  oursOnNext: {
    title: 'ours, `next start`',
    async start({ databaseUrl }) {
      const PORT = String(await freePort())
      return startProgram([NEXT, 'start', '-p', PORT], { DATABASE_URL: databaseUrl, PORT, ...SECRETS })
    },
  },
  constantOnNext: { title: 'a constant answer on `next start`', ...onNext('constant') },
  unguardedOnNext: { title: 'the lean unguarded order on `next start`', ...onNext('unguarded') },
  oursWeighed: { title: 'ours, `npm start`, weighed', ...npmStart({}, WEIGHABLE) },
} satisfies Record<string, ContenderKind>

export type Contender = keyof typeof CONTENDERS

export const contender = (name: Contender): ContenderKind => CONTENDERS[name]
