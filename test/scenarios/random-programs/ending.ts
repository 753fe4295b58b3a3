// How a program ends: all is healed, and every client retries as it was told to until there is nothing more to be told.
// That takes no longer than a lease, a settle window and an interval.
import { setTimeout as sleep } from 'node:timers/promises'
import { contradictions, now, saidBy, type Told, toldBy } from '../../support/history'
import { audit } from './books'
import { ask, isStormy, type Played, type PlayedKey, play, type Request } from './player'
import type { Program } from './program'
import { CALM_MS, STORM_MS, type Stage } from './stage'

const RETRY_MS = 150

/** All that contradicts, as sentences, and the keys for whoever wants to look again later. */
export async function playToTheEnd(stage: Stage, program: Program): Promise<{ wrong: string[]; keys: PlayedKey[] }> {
  const played = await play(stage, program).finally(() => stage.heal())
  const until = now() + (isStormy(program) ? STORM_MS : CALM_MS)
  const asked = played.keys.filter(({ requests }) => requests.size > 0)
  await Promise.all(asked.map((key) => retryAll(stage, played, key, until)))
  const wrong = [...contradictions(played.calls, played.endings), ...played.oddities, ...(await audit(stage, asked))]
  return { wrong, keys: asked }
}

async function retryAll(stage: Stage, played: Played, key: PlayedKey, until: number): Promise<void> {
  let stands = 0
  for (const request of key.requests.values()) {
    const told = await retry(stage, played, { key, request, until })
    if (!told) continue
    if (saidBy(told) !== 'reused') stands += 1
    const expected = expectedOf(key)
    if (saidBy(told) === 'final' && !key.byWord && !expected.includes(told.status))
      played.oddities.push(`${key.name} (${key.behaviour}): ended with ${told.status} ${told.body}`)
  }
  if (stands > 1) played.oddities.push(`${key.name}: ${stands} requests got through with one key`)
}

/** Null where it is stuck, which is written down. */
async function retry(
  stage: Stage,
  played: Played,
  { key, request, until }: { key: PlayedKey; request: Request; until: number },
): Promise<Told | null> {
  let last = 'nothing'
  for (let node = 0; now() < until; node++) {
    const answer = await ask(stage, played, { key, request, node })
    const told = answer && toldBy(answer)
    if (told && isTheEnd(told, key)) return told
    last = told ? `${told.status} ${told.code ?? told.body}` : 'nothing'
    await sleep(RETRY_MS)
  }
  played.oddities.push(`${key.name} (${key.behaviour}): stuck, and told ${last}`)
  return null
}

const HONEST = new Set(['idempotency_outcome_unknown', 'payment_provider_unavailable'])

/** Of a provider that can't be asked nothing can be found out, and that is what is said. */
const isTheEnd = (told: Told, { behaviour }: PlayedKey): boolean =>
  ['final', 'reused', 'expired'].includes(saidBy(told)) ||
  (behaviour === 'unreachable' && (told.status === 202 || (told.code !== null && HONEST.has(told.code))))

/** What a retry may end with, by what the provider does; a refund also with what became of its order. */
function expectedOf({ behaviour, endpoint }: PlayedKey): number[] {
  const abandoned = 408
  const refused = endpoint.includes('refunds') ? [404, 409] : []
  if (behaviour === 'declined') return [402, abandoned, ...refused]
  if (behaviour === 'unreachable') return [abandoned, ...refused]
  return [201, abandoned, ...refused]
}
