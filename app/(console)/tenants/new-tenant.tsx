'use client'
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import { Button } from '../../_ui/button'
import { Dialog } from '../../_ui/dialog'
import { TextField } from '../../_ui/field'
import { useToast } from '../../_ui/toast'
import { createTenant } from './actions'

export function NewTenant({ forbiddenBy }: { forbiddenBy: string | null }) {
  const router = useRouter()
  const tell = useToast()
  const [open, setOpen] = useState(false)
  const [name, setName] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [making, make] = useTransition()

  function submit(event: React.FormEvent) {
    event.preventDefault()
    if (!name.trim()) return setError('A tenant needs a name.')
    setError(null)
    make(async () => {
      const made = await createTenant({ name: name.trim() })
      if (!made.ok) return setError(made.issues?.name ?? made.message)
      tell('Tenant created.', 'It has no API key yet.')
      router.push(`/tenants/${made.value.id}`)
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
        New tenant
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title="New tenant"
        about="A client’s own keys, limits and API keys. Limits can be changed on its page."
        buttons={
          <>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button kind="primary" type="submit" form="new-tenant" disabled={making}>
              Create
            </Button>
          </>
        }
      >
        <form id="new-tenant" onSubmit={submit} className="px-5 py-4">
          <TextField
            label="Name"
            value={name}
            maxLength={64}
            autoFocus
            error={error}
            hint="As people say it. It can be changed."
            onChange={(event) => setName(event.target.value)}
          />
        </form>
      </Dialog>
    </>
  )
}
