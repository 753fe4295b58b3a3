'use client'
// People, and what an admin can do about each. Whoever is not an admin is not told addresses.
import { Ban, Ellipsis } from 'lucide-react'
import { useState } from 'react'
import type { ColleagueView } from '../../../lib/console/access-use-cases'
import { Button } from '../../_ui/button'
import { Menu, MenuItem, MenuLine } from '../../_ui/menu'
import { Table, Td, Th } from '../../_ui/table'
import { Age, Instant } from '../../_ui/time'
import { count } from '../../_ui/words'
import { type Deed, DeedDialogs } from './person-dialogs'

export interface ListedPerson extends ColleagueView {
  /** These are for admins. */
  email?: string
  sessionCount?: number
  tokens?: readonly { id: string; name: string }[]
  lastSignInAt?: string | null
}

interface PeopleTableProps {
  people: readonly ListedPerson[]
  me: string
  forbiddenBy: string | null
}

const cell = 'max-wide:h-auto max-wide:border-0 max-wide:py-0 max-wide:pr-0'

export function PeopleTable({ people, me, forbiddenBy }: PeopleTableProps) {
  const [deed, setDeed] = useState<Deed | null>(null)
  const admin = forbiddenBy === null
  return (
    <>
      <Table aria-label="People" className="max-wide:block">
        <thead className="max-wide:sr-only">
          <tr>
            <Th>Name</Th>
            {admin && <Th>E-mail</Th>}
            <Th>Role</Th>
            {admin && <Th>Last sign-in</Th>}
            {admin && <Th number>Sessions</Th>}
            <Th number>Added</Th>
            {admin && (
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            )}
          </tr>
        </thead>
        <tbody className="max-wide:block">
          {people.map((person) => (
            <Row
              key={person.id}
              person={person}
              self={person.id === me}
              admin={admin}
              onChoose={(what) => setDeed({ what, person })}
            />
          ))}
        </tbody>
      </Table>
      <DeedDialogs deed={deed} me={me} onClose={() => setDeed(null)} />
    </>
  )
}

interface RowProps {
  person: ListedPerson
  self: boolean
  admin: boolean
  onChoose(what: Deed['what']): void
}

function Row({ person, self, admin, onChoose }: RowProps) {
  return (
    <tr className="max-wide:relative max-wide:grid max-wide:grid-cols-[minmax(0,1fr)_auto] max-wide:gap-x-3 max-wide:border-b max-wide:border-line max-wide:py-2 max-wide:pr-11">
      <Td className={`${cell} [overflow-wrap:anywhere]`}>
        <span className="font-medium">{person.name}</span>
        {self && <span className="text-text-2"> (you)</span>}
        {person.disabled && (
          <span className="ml-3 inline-flex items-center gap-1.5 text-text-2">
            <Ban size={14} aria-hidden />
            disabled
          </span>
        )}
      </Td>
      {admin && (
        <Td className={`${cell} [overflow-wrap:anywhere] text-text-2 max-wide:order-2 max-wide:col-span-2`}>
          {person.email}
        </Td>
      )}
      <Td className={`${cell} max-wide:order-1`}>{person.role}</Td>
      {admin && (
        <Td className={`${cell} text-text-2 max-wide:order-3`}>
          {person.lastSignInAt && <span className="wide:hidden">signed in </span>}
          {person.lastSignInAt ? <Age since={person.lastSignInAt} ago /> : 'never'}
          {!person.lastSignInAt && <span className="wide:hidden"> signed in yet</span>}
        </Td>
      )}
      {admin && (
        <Td number className={`${cell} text-text-2 max-wide:hidden`}>
          {count(person.sessionCount ?? 0)}
        </Td>
      )}
      <Td number className={`${cell} text-text-2 max-wide:hidden`}>
        <Instant at={person.createdAt} seconds={false} />
      </Td>
      {admin && (
        <Td className={`${cell} w-[46px] py-0.5! text-right max-wide:absolute max-wide:top-2 max-wide:right-0`}>
          <Actions person={person} onChoose={onChoose} />
        </Td>
      )}
    </tr>
  )
}

function Actions({ person, onChoose }: { person: ListedPerson; onChoose(what: Deed['what']): void }) {
  return (
    <Menu
      trigger={
        <Button kind="quiet" size="icon" aria-label={`Actions for ${person.name}`}>
          <Ellipsis size={16} aria-hidden />
        </Button>
      }
    >
      <MenuItem onSelect={() => onChoose('role')}>Change role…</MenuItem>
      <MenuItem onSelect={() => onChoose('password')}>New password…</MenuItem>
      <MenuItem onSelect={() => onChoose('sessions')}>End sessions…</MenuItem>
      <MenuLine />
      <MenuItem onSelect={() => onChoose('disabled')}>{person.disabled ? 'Enable…' : 'Disable…'}</MenuItem>
    </Menu>
  )
}
