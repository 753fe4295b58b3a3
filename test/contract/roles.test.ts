// Every call of the operator API × every role, from the list that the routes and the document are made of: a new call
// is in this grid before anybody thinks of it.
import { beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR_CALLS } from '../../lib/http/operator-calls'
import { ROLES, type Role } from '../../lib/operators/role'
import { ADMIN_TOKEN, type Headers, send } from '../support/client'
import { expectProblem } from '../support/problem'
import { type SharedSite, shareSite } from '../support/site'
import { runSql } from '../support/tenant'

/** Well-formed ids of nothing: whoever may is told that there is no such thing, and nothing happens. */
const NOTHING: Record<string, string> = {
  id: '01jcq2h8k3v9x4m6n7p8q9r0s1',
  keyId: 'key_01jcq2h8k3v9x4m6n7p8q9r0s1',
}
const PREFIXES = ['idem', 'run', 'ten', 'opr', 'tok', 'dis', 'key']

const shown = OPERATOR_CALLS.map((call) => ({ call, name: `${call.method} ${call.path}` }))

function pathOf(call: (typeof shown)[number]['call']): string {
  const shape = call.params?.id
  const prefix = PREFIXES.find((one) => shape?.test(`${one}_${NOTHING.id}`))
  return call.path.replace('{id}', `${prefix}_${NOTHING.id}`).replace('{keyId}', NOTHING.keyId!)
}

let site: SharedSite
const tokens = {} as Record<Role, string>
beforeAll(async () => {
  site = await shareSite()
  for (const role of ROLES) {
    const made = await send(new URL('/api/admin/tokens', site.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: { name: role, role },
    })
    tokens[role] = made.json<{ secret: string }>().secret
  }
})

/** A question that no schema takes where there is a body: whoever may gets no further than that. */
const ask = (call: (typeof shown)[number]['call'], headers: Headers) =>
  send(new URL(pathOf(call), site.url), {
    method: call.method,
    headers: { ...headers, ...(call.body ? { 'content-type': 'application/json' } : {}) },
    ...(call.body ? { body: { nobody: 'takes this' } } : {}),
  })

/** By actor and action; each with an entry of the audit log, and how often it was refused. */
const refusals = () =>
  runSql<{ action: string; actor_name: string; count: number }>(
    site.databaseUrl,
    `SELECT e.action, e.actor_name, sum(r.count)::int AS count FROM audit_entries e JOIN audit_refusals r
       ON (r.actor_id, r.action, r.minute) = (e.actor_id, e.action, e.after ->> 'minute')
     WHERE e.outcome = 'forbidden' GROUP BY 1, 2 ORDER BY 1, 2`,
  )

describe.each(shown)('$name', ({ call }) => {
  test('without a valid session or token is a 401, and is not audited', async () => {
    const before = await refusals()
    expectProblem(await ask(call, {}), 401, 'unauthenticated', 'same')
    expectProblem(await ask(call, { authorization: 'Bearer oo_op_of_nobody' }), 401, 'unauthenticated', 'same')
    expect(await refusals()).toEqual(before)
  })

  test.each(ROLES)('with the role %s is allowed if the role suffices, otherwise an audited 403', async (role) => {
    const before = await refusals()
    const answer = await ask(call, { authorization: `Bearer ${tokens[role]}` })
    const after = await refusals()
    if (ROLES.indexOf(role) < ROLES.indexOf(call.role)) {
      expectProblem(answer, 403, 'forbidden', 'none')
      const countOf = (rows: typeof before, action: string) =>
        rows.find((row) => row.action === action && row.actor_name === role)?.count ?? 0
      const changed = after.filter((row) => !before.some((was) => JSON.stringify(was) === JSON.stringify(row)))
      expect(changed).toEqual([
        { action: expect.stringMatching(/^\w+\.\w+$/), actor_name: role, count: expect.any(Number) },
      ])
      expect(changed[0]!.count).toBe(countOf(before, changed[0]!.action) + 1)
    } else {
      // What it asked for is another matter: a body that nobody takes, an id of nothing.
      expect([200, 204, 400, 404]).toContain(answer.status)
      expect(after).toEqual(before)
    }
  })
})
