'use client'
// A tenant's API keys. A secret is shown once; a key that is revoked stays in the list, so that what was done with it
// can still be told.
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import type { CreatedApiKey } from '../../../../lib/tenants/api-keys'
import type { ApiKeyView } from '../../../../lib/tenants/tenant'
import { Button } from '../../../_ui/button'
import { ConfirmDialog } from '../../../_ui/confirm-dialog'
import { Dialog } from '../../../_ui/dialog'
import { TextField } from '../../../_ui/field'
import { SecretDialog } from '../../../_ui/secret-dialog'
import { Empty, Section } from '../../../_ui/section'
import { Table, Td, Th } from '../../../_ui/table'
import { Age, Instant } from '../../../_ui/time'
import { useToast } from '../../../_ui/toast'
import { createApiKey, revokeApiKey } from '../actions'

interface ApiKeysProps {
  tenant: { id: string; name: string }
  apiKeys: readonly ApiKeyView[]
  forbiddenBy: string | null
}

const cell = 'max-wide:h-auto max-wide:border-0 max-wide:py-0 max-wide:pr-0'

export function ApiKeys({ tenant, apiKeys, forbiddenBy }: ApiKeysProps) {
  const router = useRouter()
  const tell = useToast()
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<CreatedApiKey | null>(null)
  const [revoking, setRevoking] = useState<ApiKeyView | null>(null)
  // Those that work first.
  const sorted = [...apiKeys].sort((a, b) => Number(a.revokedAt !== null) - Number(b.revokedAt !== null))

  async function revoke(reason: string | undefined) {
    const done = await revokeApiKey(tenant.id, revoking!.id, reason)
    if (!done.ok) return done.message
    tell('API key revoked.', 'It is dead on every node within 5 s.')
    router.refresh()
    return null
  }

  return (
    <Section
      title="API keys"
      note="What a key’s secret is, nobody knows"
      aside={
        <Button
          aria-disabled={forbiddenBy ? true : undefined}
          aria-describedby={forbiddenBy ?? undefined}
          onClick={() => !forbiddenBy && setMaking(true)}
        >
          New API key
        </Button>
      }
    >
      {sorted.length === 0 ? (
        <Empty>It has no API key, so nobody can send its requests.</Empty>
      ) : (
        <KeyTable apiKeys={sorted} forbiddenBy={forbiddenBy} onRevoke={setRevoking} />
      )}
      <NewKey
        tenant={tenant}
        open={making}
        onOpenChange={setMaking}
        onMade={(key) => {
          setMaking(false)
          setMade(key)
          router.refresh()
        }}
      />
      {made && (
        <SecretDialog
          title="API key created"
          about={`${made.name}, of ${tenant.name}`}
          label="API key"
          secret={made.secret}
          onClose={() => setMade(null)}
        />
      )}
      <ConfirmDialog
        key={revoking?.id}
        open={revoking !== null}
        onOpenChange={(open) => !open && setRevoking(null)}
        title="Revoke API key"
        about={revoking && `${revoking.name}, of ${tenant.name}`}
        verb="Revoke"
        onConfirm={revoke}
      >
        <p>
          Whoever sends it gets 401 within 5 s, on every node. It can’t be undone.{' '}
          {revoking?.lastUsedAt ? (
            <>
              It was last used <Age since={revoking.lastUsedAt} ago />.
            </>
          ) : (
            'It was never used.'
          )}
        </p>
      </ConfirmDialog>
    </Section>
  )
}

interface KeyTableProps {
  apiKeys: readonly ApiKeyView[]
  forbiddenBy: string | null
  onRevoke(key: ApiKeyView): void
}

function KeyTable({ apiKeys, forbiddenBy, onRevoke }: KeyTableProps) {
  return (
    <Table aria-label="API keys" className="max-wide:block">
      <thead className="max-wide:sr-only">
        <tr>
          <Th>Name</Th>
          <Th>Created</Th>
          <Th>Last use</Th>
          <Th>
            <span className="sr-only">Action</span>
          </Th>
        </tr>
      </thead>
      <tbody className="max-wide:block">
        {apiKeys.map((key) => (
          <tr
            key={key.id}
            className="max-wide:grid max-wide:grid-cols-[minmax(0,1fr)_auto] max-wide:items-center max-wide:gap-x-3 max-wide:border-b max-wide:border-line max-wide:py-2"
          >
            <Td className={`${cell} [overflow-wrap:anywhere]`}>{key.name}</Td>
            <Td className={`${cell} whitespace-nowrap text-text-2 max-wide:hidden`}>
              <Instant at={key.createdAt} seconds={false} />
            </Td>
            <Td className={`${cell} text-text-2 max-wide:order-3`}>
              {key.lastUsedAt ? <Age since={key.lastUsedAt} ago /> : 'never used'}
            </Td>
            <Td className={`${cell} py-0.5! text-right max-wide:order-2`}>
              {key.revokedAt ? (
                <span className="text-text-2">
                  revoked <Instant at={key.revokedAt} seconds={false} />
                </span>
              ) : (
                <Button
                  aria-label={`Revoke ${key.name}…`}
                  aria-disabled={forbiddenBy ? true : undefined}
                  aria-describedby={forbiddenBy ?? undefined}
                  onClick={() => !forbiddenBy && onRevoke(key)}
                >
                  Revoke…
                </Button>
              )}
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

interface NewKeyProps {
  tenant: { id: string; name: string }
  open: boolean
  onOpenChange(open: boolean): void
  onMade(key: CreatedApiKey): void
}

function NewKey({ tenant, open, onOpenChange, onMade }: NewKeyProps) {
  const [name, setName] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [making, make] = useTransition()

  function submit(event: React.FormEvent) {
    event.preventDefault()
    if (!name.trim()) return setError('An API key needs a name.')
    setError(null)
    make(async () => {
      const made = await createApiKey(tenant.id, { name: name.trim() })
      if (!made.ok) return setError(made.issues?.name ?? made.message)
      setName('')
      onMade(made.value)
    })
  }

  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="New API key"
      about={`For ${tenant.name}. All keys of a tenant share its records.`}
      buttons={
        <>
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button kind="primary" type="submit" form="new-api-key" disabled={making}>
            Create
          </Button>
        </>
      }
    >
      <form id="new-api-key" onSubmit={submit} className="px-5 py-4">
        <TextField
          label="Name"
          value={name}
          maxLength={64}
          autoFocus
          error={error}
          hint="What uses it, such as checkout."
          onChange={(event) => setName(event.target.value)}
        />
      </form>
    </Dialog>
  )
}
