'use client'
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import type { Role } from '../../../lib/operators/role'
import type { CreatedToken } from '../../../lib/operators/tokens'
import { Button } from '../../_ui/button'
import { Dialog } from '../../_ui/dialog'
import { SelectField, TextField } from '../../_ui/field'
import { SecretDialog } from '../../_ui/secret-dialog'
import { Failure } from '../../_ui/section'
import { createToken } from './actions'
import { RoleChoice } from './role-choice'

const EXPIRIES = [
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
  { value: 'never', label: 'never' },
]
const NOTHING: { name: string; role: Role; expires: string } = { name: '', role: 'viewer', expires: '90' }

export function NewToken({ forbiddenBy }: { forbiddenBy: string | null }) {
  const router = useRouter()
  const [open, setOpen] = useState(false)
  const [created, setCreated] = useState<CreatedToken | null>(null)

  function done(token: CreatedToken) {
    setOpen(false)
    setCreated(token)
    router.refresh()
  }

  return (
    <>
      <Button
        aria-disabled={forbiddenBy ? true : undefined}
        aria-describedby={forbiddenBy ?? undefined}
        onClick={() => !forbiddenBy && setOpen(true)}
      >
        New token
      </Button>
      <TokenForm open={open} onOpenChange={setOpen} onCreated={done} />
      {created && (
        <SecretDialog
          title="Token created"
          about={`${created.name}, with the role ${created.role}. Send it as Authorization: Bearer.`}
          label="Token"
          secret={created.secret}
          onClose={() => setCreated(null)}
        />
      )}
    </>
  )
}

interface TokenFormProps {
  open: boolean
  onOpenChange(open: boolean): void
  onCreated(token: CreatedToken): void
}

function TokenForm({ open, onOpenChange, onCreated }: TokenFormProps) {
  const [token, setToken] = useState(NOTHING)
  const [error, setError] = useState<string | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [making, make] = useTransition()

  function submit(event: React.FormEvent) {
    event.preventDefault()
    setFailure(null)
    if (!token.name.trim()) return setError('A token needs a name.')
    setError(null)
    make(async () => {
      const { name, role, expires } = token
      const expiresInDays = expires === 'never' ? null : Number(expires)
      const made = await createToken({ name: name.trim(), role, expiresInDays })
      if (!made.ok) return made.issues?.name ? setError(made.issues.name) : setFailure(made.message)
      setToken(NOTHING)
      onCreated(made.value)
    })
  }

  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="New token"
      about="For a script: it does what its role may, under its own name. It ends with you, unless it is handed over."
      buttons={
        <>
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button kind="primary" type="submit" form="new-token" disabled={making}>
            Create
          </Button>
        </>
      }
    >
      <form id="new-token" onSubmit={submit} noValidate className="grid gap-4 px-5 py-4">
        <TextField
          label="Name"
          value={token.name}
          maxLength={100}
          autoFocus
          autoComplete="off"
          error={error}
          hint="What uses it, such as nightly report."
          onChange={({ target }) => setToken({ ...token, name: target.value })}
        />
        <RoleChoice value={token.role} onChange={(role) => setToken({ ...token, role })} />
        <SelectField
          label="Expires"
          value={token.expires}
          onChange={({ target }) => setToken({ ...token, expires: target.value })}
        >
          {EXPIRIES.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        {failure && <Failure>No token was created. {failure}</Failure>}
      </form>
    </Dialog>
  )
}
