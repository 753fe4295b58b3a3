'use client'
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import type { CreatedOperator } from '../../../lib/operators/people'
import type { Role } from '../../../lib/operators/role'
import { Button } from '../../_ui/button'
import { Dialog } from '../../_ui/dialog'
import { TextField } from '../../_ui/field'
import { SecretDialog } from '../../_ui/secret-dialog'
import { Failure } from '../../_ui/section'
import { addOperator } from './actions'
import { RoleChoice } from './role-choice'

const NOBODY: { name: string; email: string; role: Role } = { name: '', email: '', role: 'viewer' }

export function AddPerson({ forbiddenBy }: { forbiddenBy: string | null }) {
  const router = useRouter()
  const [open, setOpen] = useState(false)
  const [added, setAdded] = useState<CreatedOperator | null>(null)

  function done(person: CreatedOperator) {
    setOpen(false)
    setAdded(person)
    router.refresh()
  }

  return (
    <>
      <Button
        kind="primary"
        aria-disabled={forbiddenBy ? true : undefined}
        aria-describedby={forbiddenBy ?? undefined}
        onClick={() => !forbiddenBy && setOpen(true)}
      >
        Add person
      </Button>
      <PersonForm open={open} onOpenChange={setOpen} onAdded={done} />
      {added?.password && (
        <SecretDialog
          title={`${added.name} can sign in`}
          about={`With ${added.email} and this password.`}
          label="Password"
          secret={added.password}
          onClose={() => setAdded(null)}
        />
      )}
    </>
  )
}

interface PersonFormProps {
  open: boolean
  onOpenChange(open: boolean): void
  onAdded(person: CreatedOperator): void
}

function PersonForm({ open, onOpenChange, onAdded }: PersonFormProps) {
  const [person, setPerson] = useState(NOBODY)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [failure, setFailure] = useState<string | null>(null)
  const [adding, add] = useTransition()

  function submit(event: React.FormEvent) {
    event.preventDefault()
    const wrong = wrongIn(person)
    setErrors(wrong)
    setFailure(null)
    if (Object.keys(wrong).length > 0) return
    add(async () => {
      const made = await addOperator({ ...person, name: person.name.trim(), email: person.email.trim() })
      if (made.ok) {
        setPerson(NOBODY)
        return onAdded(made.value)
      }
      const issues = made.code === 'already_exists' ? { email: made.message } : made.issues
      setErrors(issues ?? {})
      setFailure(issues ? null : made.message)
    })
  }

  const field = (name: 'name' | 'email') => ({
    value: person[name],
    error: errors[name],
    autoComplete: 'off',
    onChange: ({ target }: React.ChangeEvent<HTMLInputElement>) => setPerson({ ...person, [name]: target.value }),
  })
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Add person"
      about="A password is made up and shown once. Hand it over by a way that only they can read."
      buttons={
        <>
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button kind="primary" type="submit" form="add-person" disabled={adding}>
            Add
          </Button>
        </>
      }
    >
      <form id="add-person" onSubmit={submit} noValidate className="grid gap-4 px-5 py-4">
        <TextField label="Name" autoFocus maxLength={100} {...field('name')} />
        <TextField label="E-mail" type="email" maxLength={254} hint="What they sign in with." {...field('email')} />
        <RoleChoice value={person.role} onChange={(role) => setPerson({ ...person, role })} />
        {failure && <Failure>Nobody was added. {failure}</Failure>}
      </form>
    </Dialog>
  )
}

function wrongIn({ name, email }: typeof NOBODY): Record<string, string> {
  const wrong: Record<string, string> = {}
  if (!name.trim()) wrong.name = 'A person needs a name.'
  if (!/^\S+@\S+\.\S+$/.test(email.trim())) wrong.email = 'That is no e-mail address.'
  return wrong
}
