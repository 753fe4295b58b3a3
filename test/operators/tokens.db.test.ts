// Tokens of scripts: shown once, known by their hash, and dead the moment they are revoked or have run out.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../lib/operators/actor'
import { actorOfToken } from '../../lib/operators/identity'
import type { Listed, Page } from '../../lib/operators/page'
import type { TokenView } from '../../lib/operators/tokens'
import { by, done, openStaff, type Staff } from './staff'

let staff: Staff
beforeAll(async () => {
  staff = await openStaff()
})
afterAll(() => staff?.close())

const DAY_MS = 86_400_000
const actorOf = (secret: string, adminToken?: string) => actorOfToken(staff.store, secret, adminToken)
const create = async (changes: { role?: 'viewer' | 'admin'; expiresInDays?: number | null } = {}) =>
  done(await staff.access.createToken(by(), { name: 'a script', role: 'viewer', expiresInDays: 90, ...changes }))
const rowOf = async (id: string) => (await staff.rows('SELECT * FROM operator_tokens WHERE id = $1', [id]))[0]!

describe('an operator token', () => {
  it('acts with its role, under its own name', async () => {
    const { id, secret } = await create({ role: 'admin' })
    expect(secret).toMatch(/^oo_op_[0-9a-f]{40}$/)
    expect(await actorOf(secret)).toEqual({ id, name: 'a script', role: 'admin' })
  })

  it('is stored as its hash only', async () => {
    const { id, secret } = await create()
    const text = await staff.allText('operator_tokens', 'audit_entries')
    expect(text).not.toContain(secret)
    expect(text).not.toContain(secret.slice('oo_op_'.length))
    expect(await staff.entries(id)).toMatchObject([
      { action: 'token.create', before: null, after: { name: 'a script', role: 'viewer' } },
    ])
  })

  it('expires at its given time, or never', async () => {
    const [soon, never] = [await create({ expiresInDays: 1 }), await create({ expiresInDays: null })]
    expect(Math.abs(Date.parse(soon.expiresAt!) - Date.now() - DAY_MS)).toBeLessThan(60_000)
    expect(never.expiresAt).toBeNull()
    expect(await actorOf(soon.secret)).not.toBeNull()
    await staff.db.query('UPDATE operator_tokens SET expires_at = clock_timestamp() WHERE id = $1', [soon.id])
    expect(await actorOf(soon.secret)).toBeNull()
    expect(await actorOf(never.secret)).not.toBeNull()
  })

  it('is refused as soon as it is revoked, and revoking it again changes nothing', async () => {
    const { id, secret } = await create()
    expect(done(await staff.access.revokeToken(by(), { id, reason: 'leaked' }))).toBeNull()
    expect(await actorOf(secret)).toBeNull()
    const { revoked_at } = await rowOf(id)
    expect(done(await staff.access.revokeToken(by(), { id }))).toBeNull()
    expect(await rowOf(id)).toMatchObject({ revoked_at })
    const [, entry, ...more] = await staff.entries(id)
    expect(entry).toMatchObject({
      action: 'token.revoke',
      reason: 'leaked',
      before: { revokedAt: null },
      after: { revokedAt: expect.any(String) },
    })
    expect(more).toEqual([])
  })

  it('with an unknown id can’t be revoked', async () => {
    expect(await staff.access.revokeToken(by(), { id: `tok_${'0'.repeat(26)}` })).toMatchObject({
      refused: 'not_found',
    })
  })

  it('records its last use, to the minute', async () => {
    const { id, secret } = await create()
    expect(await rowOf(id)).toMatchObject({ last_used_at: null })
    await actorOf(secret)
    const { last_used_at } = await rowOf(id)
    expect(last_used_at).toBeInstanceOf(Date)
    await actorOf(secret)
    expect(await rowOf(id)).toMatchObject({ last_used_at })
    await staff.db.query(`UPDATE operator_tokens SET last_used_at = last_used_at - interval '61 s' WHERE id = $1`, [id])
    await actorOf(secret)
    expect(((await rowOf(id)).last_used_at as Date).getTime()).toBeGreaterThanOrEqual((last_used_at as Date).getTime())
  })

  it('created twice by the same call exists once, and its secret is not shown again', async () => {
    const call = { ...by(), newId: (prefix: string) => `${prefix}_${'0'.repeat(25)}9` }
    const asked = { name: 'once', role: 'viewer' as const, expiresInDays: 1 }
    const { id, secret } = done(await staff.access.createToken(call, asked))
    expect(await staff.access.createToken(call, asked)).toEqual({ refused: 'already_created' })
    expect(await actorOf(secret)).toMatchObject({ id })
    expect(await staff.entries(id)).toHaveLength(1)
  })

  it('that is unknown belongs to no operator, and the one of the environment is an admin', async () => {
    expect(await actorOf('oo_op_unknown')).toBeNull()
    expect(await actorOf('of the environment', 'of the environment')).toMatchObject({ role: 'admin' })
    expect(await actorOf('of the environment')).toBeNull()
  })
})

describe('an operator token of a person', () => {
  const tokenOf = async (person: Actor, name = 'of a person') =>
    done(await staff.access.createToken(by(person), { name, role: 'admin', expiresInDays: null }))
  const disable = (id: string, disabled = true) => staff.access.updateOperator(by(), { id, disabled })
  const handOver = (id: string, ownerId: string) => staff.access.updateToken(by(), { id, ownerId, reason: 'moves on' })

  it('ends when that person is disabled, for good, and the audit log names it', async () => {
    const [ada, bob] = [await staff.add('admin'), await staff.add('admin')]
    const [hers, his, anybodys] = [await tokenOf(ada), await tokenOf(bob), await create()]
    expect(await actorOf(hers.secret)).not.toBeNull()
    done(await disable(ada.id))
    expect(await actorOf(hers.secret)).toBeNull()
    expect((await staff.entries(ada.id)).at(-1)).toMatchObject({
      action: 'operator.update',
      after: { disabled: true, endedTokens: [{ id: hers.id, name: 'of a person' }] },
    })
    done(await disable(ada.id, false))
    expect(await actorOf(hers.secret)).toBeNull()
    expect((await rowOf(hers.id)).revoked_at).toBeInstanceOf(Date)
    for (const { secret } of [his, anybodys]) expect(await actorOf(secret)).not.toBeNull()
  })

  it('ends with the tokens that it made, and with a person who is deleted by SQL', async () => {
    const [ada, bob] = [await staff.add('admin'), await staff.add('admin')]
    const first = await tokenOf(ada)
    const second = await tokenOf((await actorOf(first.secret))!)
    const his = await tokenOf(bob)
    done(await disable(ada.id))
    await staff.db.query('DELETE FROM operators WHERE id = $1', [bob.id])
    for (const { secret } of [first, second, his]) expect(await actorOf(secret)).toBeNull()
  })

  it('can do no more than that person, also after a demotion', async () => {
    const ada = await staff.add('admin')
    const { id, secret } = await tokenOf(ada)
    expect(await actorOf(secret)).toEqual({ id, name: 'of a person', role: 'admin' })
    done(await staff.access.updateOperator(by(), { id: ada.id, role: 'viewer' }))
    expect(await actorOf(secret)).toEqual({ id, name: 'of a person', role: 'viewer' })
  })

  it('that is handed over goes on working, and ends with its new owner', async () => {
    const [ada, bob] = [await staff.add('admin'), await staff.add('viewer')]
    const { id, secret } = await tokenOf(ada)
    expect(done(await handOver(id, bob.id))).toMatchObject({
      id,
      owner: { id: bob.id, name: bob.name },
      createdBy: { id: ada.id },
    })
    expect((await staff.entries(id)).at(-1)).toMatchObject({
      action: 'token.hand_over',
      reason: 'moves on',
      before: { name: 'of a person', owner: ada.id },
      after: { name: 'of a person', owner: bob.id },
    })
    done(await disable(ada.id))
    expect(await actorOf(secret)).toMatchObject({ id })
    done(await disable(bob.id))
    expect(await actorOf(secret)).toBeNull()
  })

  it('can be handed over only to a person who may sign in, and only while it works', async () => {
    const [ada, gone] = [await staff.add('admin'), await staff.add()]
    done(await disable(gone.id))
    const { id } = await tokenOf(ada)
    for (const nobody of [gone.id, `opr_${'0'.repeat(26)}`])
      expect(await handOver(id, nobody)).toMatchObject({ refused: 'invalid_request', issues: [{ path: 'ownerId' }] })
    const entries = await staff.entries(id)
    done(await handOver(id, ada.id))
    expect(await staff.entries(id)).toEqual(entries)
    done(await staff.access.revokeToken(by(), { id }))
    expect(await handOver(id, ada.id)).toMatchObject({ refused: 'not_found' })
  })

  it('that is created while the person is being disabled does not outlive them', async () => {
    const ada = await staff.add('admin')
    const rival = await staff.transaction()
    await rival.query('UPDATE operators SET disabled_at = clock_timestamp() WHERE id = $1', [ada.id])
    const creating = tokenOf(ada)
    await staff.untilBlocked(1)
    await rival.query('COMMIT')
    rival.release()
    expect(await creating.then(({ secret }) => actorOf(secret))).toBeNull()
  })

  it('is listed with its owner until it ends', async () => {
    const ada = await staff.add('admin')
    const { id } = await tokenOf(ada, 'nightly')
    await tokenOf(ada, 'backup').then((token) => staff.access.revokeToken(by(), { id: token.id }))
    const page = done(await staff.access.listOperators(by(), { limit: 1, after: null }))
    expect(page.items).toMatchObject([{ id: ada.id, tokens: [{ id, name: 'nightly' }] }])
  })
})

describe('the operator token list', () => {
  it('has every token once, newest first, including revoked ones, with its creator', async () => {
    const ada = await staff.add('admin')
    const made = done(
      await staff.access.createToken(by(ada), { name: 'of Ada', role: 'operator', expiresInDays: null }),
    )
    const seen: string[] = []
    let after: Page['after'] = null
    do {
      const { items, next }: Listed<TokenView> = done(await staff.access.listTokens(by(), { limit: 3, after }))
      if (!after)
        expect(items[0]).toEqual({
          id: made.id,
          name: 'of Ada',
          role: 'operator',
          createdBy: { id: ada.id, name: ada.name },
          owner: { id: ada.id, name: ada.name },
          createdAt: expect.any(String),
          expiresAt: null,
          revokedAt: null,
          lastUsedAt: null,
        })
      seen.push(...items.map(({ id }) => id))
      after = next
    } while (after)
    const all = await staff.rows<{ id: string }>('SELECT id FROM operator_tokens ORDER BY created_at DESC, id DESC')
    expect(seen).toEqual(all.map(({ id }) => id))
  })
})
