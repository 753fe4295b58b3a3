// What operators do in a program: to single keys, to all of them, and what an honest one reads at the provider.
import { randomUUID } from 'node:crypto'
import { ADMIN_TOKEN, send } from '../../support/client'
import { type Ending, now } from '../../support/history'
import type { Played, PlayedKey } from './player'
import type { Step } from './program'
import type { Stage } from './stage'

const PATIENCE_MS = 12_000

interface Playing {
  stage: Stage
  nodes: number
  played: Played
}

/** An operator's call; null where no answer came. */
export async function operate({ stage, nodes, played }: Playing, node: number, path: string, body: object) {
  const { url } = stage.clientOf(node % nodes, 'day')
  const sending = {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(PATIENCE_MS),
  }
  const answer = await send(new URL(`/api/admin/${path}`, url), sending).catch(() => null)
  // A store that is away is no bug; anything else that begins with a 5 is.
  if (answer && answer.status >= 500 && answer.status !== 503)
    played.oddities.push(`an operator was told ${answer.status} ${answer.bytes} for ${path}`)
  return answer
}

export async function actOn(
  playing: Playing,
  key: PlayedKey,
  step: Extract<Step, { do: 'expire' | 'reconcile' | 'resolve' }>,
): Promise<void> {
  const { stage, played } = playing
  const [record] = await stage
    .query<{ id: string; version: number }>(
      'SELECT id, version FROM idempotency_records WHERE tenant_id = $1 AND endpoint = $2 AND key = $3',
      [key.tenantId, key.endpoint, key.key],
    )
    .catch(() => [])
  if (!record) return
  const path = `keys/${record.id}/${step.do}`
  const reason = 'a random program says so'
  if (step.do === 'reconcile') {
    await operate(playing, step.node, path, { reason })
    return
  }
  const { version } = record
  if (step.do === 'expire') {
    const ending: Ending = { key: key.name, askedAt: now(), answeredAt: Number.POSITIVE_INFINITY, done: false }
    played.endings.push(ending)
    const answer = await operate(playing, step.node, path, { reason, version })
    if (answer) Object.assign(ending, { answeredAt: now(), done: answer.status === 200 })
    return
  }
  const word = step.as === 'booked' ? await bookedFor(stage, record.id) : madeUp(step.as)
  if (!word) return
  const answer = await operate(playing, step.node, path, { ...word, reason, version })
  if (step.as !== 'booked' && (!answer || answer.status === 200)) key.byWord = true
}

const madeUp = (verdict: string) =>
  verdict === 'not_executed' ? { verdict } : { verdict, providerRef: `made_up_${randomUUID()}` }

/** What an honest operator reads in the provider's dashboard. */
async function bookedFor(stage: Stage, recordId: string): Promise<object | null> {
  const rows = await stage
    .query<{ ref: string; status: string }>(
      `SELECT ref, status FROM sandbox.charges WHERE provider_key = $1 AND booked_at <= clock_timestamp()
       ORDER BY status = 'succeeded' DESC LIMIT 1`,
      [`onceover-${recordId}`],
    )
    .catch(() => null)
  if (!rows) return null
  const [booked] = rows
  if (!booked) return { verdict: 'not_executed' }
  return { verdict: booked.status === 'succeeded' ? 'succeeded' : 'declined', providerRef: booked.ref }
}

export async function reportAgain(stage: Stage, keys: readonly PlayedKey[]): Promise<void> {
  await stage
    .query(
      `UPDATE sandbox.events e SET delivered_at = NULL, due_at = clock_timestamp()
       FROM sandbox.charges c JOIN idempotency_records r ON c.provider_key = 'onceover-' || r.id
       WHERE e.charge_ref = c.ref AND r.key = ANY($1)`,
      [keys.map(({ key }) => key)],
    )
    .catch(() => {})
}
