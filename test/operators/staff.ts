// Operators on a database of their own, and a node that they sign in to.
import { randomUUID } from 'node:crypto'
import type { Store } from '../../lib/db/store'
import { type Actor, callOf } from '../../lib/operators/actor'
import { createOperator } from '../../lib/operators/people'
import { isRefused, type Refused } from '../../lib/operators/refusal'
import type { Role } from '../../lib/operators/role'
import { openSessions, type Sessions } from '../../lib/operators/session'
import type { OwnCookie } from '../../lib/operators/session-cookie'
import type { SignedIn } from '../../lib/operators/sign-in'
import { openGuard } from '../../lib/operators/use-case'
import { accessUseCases } from '../../lib/operators/use-cases'
import { type Bench, openBench } from '../support/boundary'

const ROOT: Actor = { id: 'ADMIN_TOKEN', name: 'ADMIN_TOKEN', role: 'admin' }
export const by = (actor: Actor = ROOT) => callOf(actor, `req_${randomUUID()}`)

export interface Person extends Actor {
  email: string
  password: string
}

export interface Entry {
  actor_id: string
  action: string
  target: string | null
  outcome: string
  reason: string | null
  before: unknown
  after: unknown
}

export function done<T>(outcome: T | Refused): T {
  if (isRefused(outcome)) throw new Error(`refused: ${outcome.refused} ${outcome.detail}`)
  return outcome
}

export const cookieHeader = ({ name, value }: Pick<OwnCookie, 'name' | 'value'>): Headers =>
  new Headers({ cookie: `${name}=${encodeURIComponent(value)}` })

export async function openStaff() {
  const bench: Bench = await openBench()
  const sessions = openSessions(bench.store)

  async function add(role: Role = 'viewer', changes: { email?: string; password?: string } = {}): Promise<Person> {
    const email = changes.email ?? `${randomUUID()}@example.com`
    const password = changes.password ?? 'a good password'
    const { id } = done(await createOperator(bench.store, by(), { name: `A ${role}`, email, role, password }))
    return { id, name: `A ${role}`, role, email, password }
  }

  const signIn = (
    { email, password }: { email: string; password: string },
    on: Sessions = sessions,
    headers = new Headers(),
  ): Promise<SignedIn | Refused> => on.signIn({ email, password, headers, requestId: `req_${randomUUID()}` })

  return {
    ...bench,
    sessions,
    access: accessUseCases(bench.store, openGuard(bench.store)),
    add,
    signIn,
    /** Signed in, as the headers of whatever is asked next. */
    async session(person: Person): Promise<Headers> {
      return cookieHeader(done(await signIn(person)).cookie)
    },
    sessionsOf: (person: { id: string }) =>
      bench.rows<{ id: string; token: string; created_at: Date; expires_at: Date; updated_at: Date }>(
        'SELECT * FROM operator_sessions WHERE operator_id = $1 AND expires_at > clock_timestamp() ORDER BY id',
        [person.id],
      ),
    entries: (target: string) =>
      bench.rows<Entry>('SELECT * FROM audit_entries WHERE target = $1 ORDER BY seq', [target]),
    /** All that was ever written down, as text. */
    async allText(...tables: string[]): Promise<string> {
      const rows = await Promise.all(
        tables.map((table) => bench.rows(`SELECT to_jsonb(t)::text AS row FROM ${table} t`)),
      )
      return JSON.stringify(rows)
    },
    otherNode: (store: Store = bench.store) => openSessions(store),
  }
}

export type Staff = Awaited<ReturnType<typeof openStaff>>
