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
  const [person, setPerson] = useState(NOBODY)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [failure, setFailure] = useState<string | null>(null)
  const [added, setAdded] = useState<CreatedOperator | null>(null)
  const [adding, add] = useTransition()

  function submit(event: React.FormEvent) {
    event.preventDefault()
    const wrong: Record<string, string> = {}
    if (!person.name.trim()) wrong.name = 'A person needs a name.'
    if (!/^\S+@\S+\.\S+$/.test(person.email.trim())) wrong.email = 'That is no e-mail address.'
    setErrors(wrong)
    setFailure(null)
    if (Object.keys(wrong).length > 0) return
    add(async () => {
      const made = await addOperator({ ...person, name: person.name.trim(), email: person.email.trim() })
      if (made.ok) {
        setPerson(NOBODY)
        setOpen(false)
        setAdded(made.value)
        return router.refresh()
      }
      if (made.code === 'already_exists') return setErrors({ email: made.message })
      setErrors(made.issues ?? {})
      setFailure(made.issues ? null : made.message)
    })
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
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title="Add person"
        about="A password is made up and shown once. Hand it over by a way that only they can read."
        buttons={
          <>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button kind="primary" type="submit" form="add-person" disabled={adding}>
              Add
            </Button>
          </>
        }
      >
        <form id="add-person" onSubmit={submit} noValidate className="grid gap-4 px-5 py-4">
          <TextField
            label="Name"
            value={person.name}
            maxLength={100}
            autoFocus
            autoComplete="off"
            error={errors.name}
            onChange={({ target }) => setPerson({ ...person, name: target.value })}
          />
          <TextField
            label="E-mail"
            type="email"
            value={person.email}
            maxLength={254}
            autoComplete="off"
            error={errors.email}
            hint="What they sign in with."
            onChange={({ target }) => setPerson({ ...person, email: target.value })}
          />
          <RoleChoice value={person.role} onChange={(role) => setPerson({ ...person, role })} />
          {failure && <Failure>Nobody was added. {failure}</Failure>}
        </form>
      </Dialog>
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
