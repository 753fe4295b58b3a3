'use client'
// What an admin does about a person: each with what follows from it, and why.
import { useRouter } from 'next/navigation'
import { type ReactNode, useState } from 'react'
import type { Role } from '../../../lib/operators/role'
import { ConfirmDialog } from '../../_ui/confirm-dialog'
import { SecretDialog } from '../../_ui/secret-dialog'
import { useToast } from '../../_ui/toast'
import { count } from '../../_ui/words'
import { endSessions, renewPassword, updateOperator } from './actions'
import type { ListedPerson } from './people-table'
import { RoleChoice } from './role-choice'

export interface Deed {
  what: 'role' | 'password' | 'sessions' | 'disabled'
  person: ListedPerson
}

interface DeedDialogsProps {
  deed: Deed | null
  me: string
  onClose(): void
}

export function DeedDialogs({ deed, me, onClose }: DeedDialogsProps) {
  const router = useRouter()
  const [renewed, setRenewed] = useState<{ name: string; password: string } | null>(null)
  return (
    <>
      {deed && (
        <DeedDialog
          key={`${deed.what} ${deed.person.id}`}
          deed={deed}
          me={me}
          onClose={onClose}
          onRenewed={(password) => setRenewed({ name: deed.person.name, password })}
        />
      )}
      {renewed && (
        <SecretDialog
          title="New password"
          about={`For ${renewed.name}. Hand it over by a way that only they can read.`}
          label="Password"
          secret={renewed.password}
          // Only now: whoever renewed their own is signed out, and must have read it before the page goes.
          onClose={() => {
            setRenewed(null)
            router.refresh()
          }}
        />
      )}
    </>
  )
}

interface DeedDialogProps {
  deed: Deed
  me: string
  onClose(): void
  onRenewed(password: string): void
}

function DeedDialog({ deed: { what, person }, me, onClose, onRenewed }: DeedDialogProps) {
  const router = useRouter()
  const tell = useToast()
  const [role, setRole] = useState<Role>(person.role)

  async function act(reason: string | undefined): Promise<string | null> {
    const done = await perform()
    if (!done.ok) return done.message
    if (done.value && 'password' in done.value) {
      onRenewed(done.value.password)
      return null
    }
    tell(said())
    router.refresh()
    return null

    function perform() {
      if (what === 'role') return updateOperator(person.id, { role, reason })
      if (what === 'disabled') return updateOperator(person.id, { disabled: !person.disabled, reason })
      return what === 'password' ? renewPassword(person.id, reason) : endSessions(person.id, reason)
    }
  }

  function said(): string {
    if (what === 'role') return `${person.name} is ${role} now.`
    if (what === 'sessions') return `${person.name} is signed out everywhere.`
    return `${person.name} is ${person.disabled ? 'enabled' : 'disabled'}.`
  }

  const { title, verb, follows } = wordsOf(what, person, person.id === me)
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={title}
      about={`${person.name}, ${person.email}`}
      verb={verb}
      onConfirm={act}
    >
      {what === 'role' && <RoleChoice value={role} onChange={setRole} />}
      <div>{follows}</div>
    </ConfirmDialog>
  )
}

function wordsOf(
  what: Deed['what'],
  person: ListedPerson,
  self: boolean,
): { title: string; verb: string; follows: ReactNode } {
  const n = person.sessionCount ?? 0
  const sessions = n === 1 ? 'their one session ends' : `their ${count(n)} sessions end`
  const you = self ? ' That is you: you will have to sign in again.' : ''
  switch (what) {
    case 'role':
      return {
        title: 'Change role',
        verb: 'Change role',
        follows: `It holds from ${self ? 'your' : 'their'} next click on, on every node.`,
      }
    case 'password':
      return {
        title: 'Set a new password',
        verb: 'Set password',
        follows: `One is made up and shown once. Their old one stops working, and ${sessions}.${you}`,
      }
    case 'sessions':
      return {
        title: 'End sessions',
        verb: 'End sessions',
        follows: `On every node at once, ${sessions}. They may sign in again.${you}`,
      }
    case 'disabled':
      return person.disabled
        ? { title: 'Enable person', verb: 'Enable', follows: 'They may sign in again with the password that they had.' }
        : {
            title: 'Disable person',
            verb: 'Disable',
            follows: (
              <>
                They can’t sign in any more, and {sessions} on every node at once. What they did stays in the audit log.
                {self && ' That is you.'}
                <EndingTokens tokens={person.tokens ?? []} />
              </>
            ),
          }
  }
}

function EndingTokens({ tokens }: { tokens: NonNullable<ListedPerson['tokens']> }) {
  if (tokens.length === 0) return null
  return (
    <div className="mt-3">
      <p>
        {tokens.length === 1 ? 'Their token ends' : `Their ${count(tokens.length)} tokens end`} for good. To keep one,
        hand it over first, under Tokens.
      </p>
      <ul className="mt-1 list-disc pl-5 [overflow-wrap:anywhere]">
        {tokens.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
    </div>
  )
}
