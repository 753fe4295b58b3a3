import type { Metadata } from 'next'
import { Suspense } from 'react'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../../../lib/http/cursor'
import { isStorable } from '../../../lib/http/validate'
import type { Position } from '../../../lib/operators/page'
import { isRefused } from '../../../lib/operators/refusal'
import { mayAct } from '../../../lib/operators/role'
import { Pages } from '../../_ui/pages'
import { Empty, Section, Verdict } from '../../_ui/section'
import { plural } from '../../_ui/words'
import { answer } from '../_shell/answer'
import { PageBody, PageHeader } from '../_shell/header'
import { hrefOf, queryOf, type SearchParams } from '../_shell/query'
import { Unread } from '../_shell/unread'
import { AddPerson } from './add-person'
import { NewToken } from './new-token'
import { type ListedPerson, PeopleTable } from './people-table'
import { TokensTable } from './tokens-table'

export const metadata: Metadata = { title: 'Operators' }

const ROWS = 100
const WHY_NOT = 'why-not'
const Cursor = z.object({
  createdAt: z.iso.datetime().refine((at) => !at.startsWith('0000')),
  id: z.string().max(64).refine(isStorable),
})

export default async function Operators({ searchParams }: { searchParams: SearchParams }) {
  const { people, tokens } = await queryOf({ people: z.string(), tokens: z.string() }, searchParams)
  const who = await answer(async ({ call }) => call.actor)
  const forbiddenBy = who.ok && mayAct(who.value.role, 'admin') ? null : WHY_NOT
  return (
    <>
      <PageHeader title="Operators">
        <AddPerson forbiddenBy={forbiddenBy} />
      </PageHeader>
      <PageBody>
        {forbiddenBy && who.ok && (
          <p id={WHY_NOT} className="border-b border-line py-3 text-text-2">
            You see names and roles. Everything else here takes the role admin; yours is {who.value.role}.
          </p>
        )}
        <Suspense fallback={<div className="min-h-[30vh]" />}>
          <People cursor={people} forbiddenBy={forbiddenBy} kept={{ tokens }} />
        </Suspense>
        <Suspense fallback={<div className="min-h-[30vh]" />}>
          <Tokens cursor={tokens} forbiddenBy={forbiddenBy} kept={{ people }} />
        </Suspense>
      </PageBody>
    </>
  )
}

interface PartProps {
  cursor: string | undefined
  forbiddenBy: string | null
  /** Where the other list on the page is. */
  kept: Record<string, string | undefined>
}

const positionOf = (cursor: string | undefined): Position | null => (cursor && decodeCursor(Cursor, cursor)) || null

async function People({ cursor, forbiddenBy, kept }: PartProps) {
  const page = { limit: ROWS, after: positionOf(cursor) }
  const people = await answer(async ({ call, services }) => {
    const me = call.actor.id
    if (forbiddenBy) {
      const seen = await services.seeOperators(call, page)
      return isRefused(seen) ? seen : { ...seen, items: seen.items as ListedPerson[], me }
    }
    const listed = await services.listOperators(call, page)
    if (isRefused(listed)) return listed
    const signIns = await services.lastSignIns(call, { ids: listed.items.map(({ id }) => id) })
    if (isRefused(signIns)) return signIns
    const items: ListedPerson[] = listed.items.map((person) => ({
      ...person,
      lastSignInAt: signIns.get(person.id) ?? null,
    }))
    return { ...listed, items, me }
  })
  if (!people.ok)
    return (
      <div className="py-5">
        <Unread what="The people" why={people.message} />
      </div>
    )
  const { items, next, me } = people.value
  return (
    <>
      <Verdict>{verdictOf(items, next !== null || cursor !== undefined)}</Verdict>
      <Section title="People">
        <PeopleTable people={items} me={me} forbiddenBy={forbiddenBy} />
        {(next || cursor) && (
          <Pages
            older={next && hrefOf('/operators', { ...kept, people: encodeCursor(next) })}
            newest={cursor ? hrefOf('/operators', kept) : null}
          >
            {plural(items.length, 'person', 'people')} on this page, newest first.
          </Pages>
        )}
      </Section>
    </>
  )
}

function verdictOf(people: readonly ListedPerson[], more: boolean): string {
  const enabled = people.filter(({ disabled }) => !disabled)
  const admins = enabled.filter(({ role }) => role === 'admin').length
  if (more) return 'Many people can sign in.'
  const sentence = `${plural(enabled.length, 'person', 'people')} can sign in.`
  return admins === 1
    ? `${sentence} Only one is an admin: a second one keeps you from locking yourselves out.`
    : `${sentence} ${plural(admins, 'admin')} among them.`
}

async function Tokens({ cursor, forbiddenBy, kept }: PartProps) {
  const tokens = await answer(async ({ call, services }) => {
    const listed = await services.seeTokens(call, { limit: ROWS, after: positionOf(cursor) })
    if (isRefused(listed)) return listed
    const people = await services.seeOperators(call, { limit: ROWS, after: null })
    return isRefused(people) ? people : { ...listed, heirs: people.items.filter(({ disabled }) => !disabled) }
  })
  return (
    <Section
      title="Tokens"
      note="For scripts and cron"
      aside={<NewToken forbiddenBy={forbiddenBy} />}
      className="border-t border-line"
    >
      {!tokens.ok ? (
        <Unread what="The tokens" why={tokens.message} />
      ) : tokens.value.items.length === 0 ? (
        <Empty>No token yet. With one a script can do what its role may.</Empty>
      ) : (
        <TokensTable tokens={tokens.value.items} heirs={tokens.value.heirs} forbiddenBy={forbiddenBy} />
      )}
      {tokens.ok && (tokens.value.next || cursor) && (
        <Pages
          older={tokens.value.next && hrefOf('/operators', { ...kept, tokens: encodeCursor(tokens.value.next) })}
          newest={cursor ? hrefOf('/operators', kept) : null}
        >
          {plural(tokens.value.items.length, 'token')} on this page, newest first.
        </Pages>
      )}
    </Section>
  )
}
