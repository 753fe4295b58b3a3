// Answers at hand, on a line that says what it is told to: what stands for a key, and what is used longest ago.
import { expect, it } from 'vitest'
import type { Notifications } from '../../lib/db/notifications'
import { replayed } from '../../lib/http/replay'
import { type Finished, openAnswers } from '../../lib/idempotency/answers'
import type { Services } from '../../lib/node/services'

const ENDPOINT = 'POST /api/orders'

function answersAt(clock: { ms: number }, maxBytes: number) {
  const line = { isCurrent: () => true, currentMs: () => clock.ms, latestMs: () => clock.ms, on() {}, onLost() {} }
  return openAnswers(line as unknown as Notifications, { maxBytes })
}

function finished(id: string, { key = id, headers = {} }: { key?: string; headers?: Record<string, string> } = {}) {
  const answer = { status: 201, headers, body: '{"note":"plain"}' }
  const at = { createdAt: new Date(0), expiresAt: new Date(1e12) }
  return { id, tenantId: 'ten_a', endpoint: ENDPOINT, key, fingerprint: '', answer, ...at } satisfies Finished
}

it('a cached response is replaced at once by that of a later record with the same key', () => {
  const answers = answersAt({ ms: 0 }, 1e6)
  answers.keep(answers.ticket(), finished('idem_1', { key: 'a' }))
  const bytes = answers.bytes()
  answers.keep(answers.ticket(), finished('idem_2', { key: 'a' }))
  expect(answers.find('ten_a', ENDPOINT, 'a')?.id).toBe('idem_2')
  expect(answers.bytes()).toBe(bytes)
})

it('the cache evicts the least recently used response, even after its clock went back', () => {
  const clock = { ms: 5e9 }
  const answers = answersAt(clock, 3000)
  const uses = (id: string) => answers.find('ten_a', ENDPOINT, id) !== undefined
  answers.keep(answers.ticket(), finished('idem_1'))
  expect(uses('idem_1')).toBe(true)
  answers.keep(answers.ticket(), finished('idem_2'))
  clock.ms = 1e9
  expect(uses('idem_1')).toBe(true)
  answers.keep(answers.ticket(), finished('idem_3'))
  expect([uses('idem_1'), uses('idem_2'), uses('idem_3')]).toEqual([true, false, true])
})

it('a replay is encoded as latin1 only when its headers are ASCII too', () => {
  const node = { metrics: { replayed() {} } } as unknown as Services
  const encodingOf = (one: Finished) => replayed(node, one, undefined, 0).encoding
  expect(encodingOf(finished('idem_1'))).toBe('latin1')
  expect(encodingOf(finished('idem_2', { headers: { 'x-note': 'Grüße' } }))).toBe('utf8')
})
