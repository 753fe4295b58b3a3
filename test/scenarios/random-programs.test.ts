// Random programs of requests, retries, duplicates, misuse, operators and faults, on several nodes, with a provider that
// honours keys and with one that does not. Whatever happens, what clients were told fits together, and the provider
// executed each request at most once. A program that finds a contradiction is made smaller, and its seed replays it:
// `PROOF_RUNS=200 npm run proof -- random`, or PROOF_MINUTES=30, or PROOF_SEED=… PROOF_PATH=….
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../lib/audit/verify'
import { openStore } from '../../lib/db/store'
import { audit } from './random-programs/books'
import { playToTheEnd } from './random-programs/ending'
import type { PlayedKey } from './random-programs/player'
import { anyProgram, type Program, print } from './random-programs/program'
import { openStage, type Stage } from './random-programs/stage'

const MINUTE = 60_000

const { PROOF_RUNS, PROOF_MINUTES, PROOF_SEED, PROOF_PATH, PROOF_PROVIDER } = process.env
if (PROOF_MINUTES && !(Number(PROOF_MINUTES) > 0))
  throw new Error(`PROOF_MINUTES is no number above 0: ${PROOF_MINUTES}`)
/** By default as long as the proof has room for; both providers share what is asked for. */
const playMs = PROOF_RUNS || PROOF_PATH ? Number.POSITIVE_INFINITY : (Number(PROOF_MINUTES ?? 0.7) / 2) * MINUTE
/** The same programs at each run, unless more are asked for. */
const seed = PROOF_SEED ?? (PROOF_RUNS || PROOF_MINUTES ? null : '20261116')
/** A program takes longer than this. */
const SHORTEST_MS = 200
/** How long a failing program is made smaller. */
const SHRINK_MS = 2 * MINUTE
const TEST_LIMIT_MS = 24 * 60 * MINUTE

const PROVIDERS = {
  'honours keys and reports what it did': { SANDBOX_IDEMPOTENT: 'true', SANDBOX_WEBHOOK_DELAY_MS: '300' },
  'ignores keys': { SANDBOX_IDEMPOTENT: 'false' },
}
const wanted = Object.entries(PROVIDERS).filter(([name]) => !PROOF_PROVIDER || name.startsWith(PROOF_PROVIDER))

describe.each(wanted)('with a provider that %s', (provider, env) => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage(env)
  }, 5 * MINUTE)
  afterAll(() => stage?.close())

  it(
    'no random program gets contradictory answers or a second charge',
    async () => {
      const keys: PlayedKey[] = []
      const played = { programs: 0, strands: 0 }
      const beganAt = performance.now()
      let failedAt: number | null = null
      const isOver = () =>
        failedAt === null ? performance.now() - beganAt > playMs : performance.now() - failedAt > SHRINK_MS

      const property = fc.asyncProperty(anyProgram, async (program) => {
        // What comes after the time is over passes unplayed: fast-check is then soon through.
        if (isOver()) return
        const { wrong, keys: used } = await playToTheEnd(stage, program)
        keys.push(...used)
        played.programs += 1
        played.strands += program.strands.length
        if (wrong.length === 0) return
        failedAt ??= performance.now()
        throw new Error(wrong.join('\n'))
      })
      const details = await fc.check(property, {
        numRuns: PROOF_RUNS ? Number(PROOF_RUNS) : PROOF_PATH ? 1 : Math.ceil(playMs / SHORTEST_MS),
        ...(seed ? { seed: Number(seed) } : {}),
        ...(PROOF_PATH ? { path: PROOF_PATH } : {}),
      })
      console.log(`${played.programs} programs of ${played.strands} strands, ${keys.length} keys; seed ${details.seed}`)
      if (details.failed) throw new Error(reportOf(provider, details))
      // Once more for all of them: whoever woke up late has been here by now.
      expect(await audit(stage, keys)).toStrictEqual([])
      const store = openStore(stage.databaseUrl, { max: 1, applicationName: 'random-programs' })
      expect(await verifyAudit(store).finally(() => store.close())).toMatchObject({ holds: true })
    },
    TEST_LIMIT_MS,
  )
})

function reportOf(provider: string, details: fc.RunDetails<[Program]>): string {
  const { counterexample, counterexamplePath, seed, numRuns, numShrinks, errorInstance } = details
  const why = errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance)
  return [
    `after ${numRuns} programs, made smaller ${numShrinks} times:`,
    why.split('\n    at ')[0],
    counterexample ? print(counterexample[0]) : '',
    `PROOF_SEED=${seed} PROOF_PATH=${counterexamplePath} PROOF_PROVIDER=${provider.split(' ')[0]} npm run proof -- random`,
  ].join('\n')
}
