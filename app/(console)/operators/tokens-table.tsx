'use client'
// Tokens, those that work first. A revoked one stays in the list, so that what was done with it can still be told.
import { useRouter } from 'next/navigation'
import { useState } from 'react'
import type { TokenView } from '../../../lib/operators/tokens'
import { Button } from '../../_ui/button'
import { ConfirmDialog } from '../../_ui/confirm-dialog'
import { Table, Td, Th } from '../../_ui/table'
import { Age, Instant, useNow } from '../../_ui/time'
import { useToast } from '../../_ui/toast'
import { duration } from '../../_ui/words'
import { revokeToken } from './actions'

const cell = 'max-wide:h-auto max-wide:border-0 max-wide:py-0 max-wide:pr-0'

export function TokensTable({ tokens, forbiddenBy }: { tokens: readonly TokenView[]; forbiddenBy: string | null }) {
  const router = useRouter()
  const tell = useToast()
  const [revoking, setRevoking] = useState<TokenView | null>(null)
  const sorted = [...tokens].sort((a, b) => Number(a.revokedAt !== null) - Number(b.revokedAt !== null))

  async function revoke(reason: string | undefined) {
    const done = await revokeToken(revoking!.id, reason)
    if (!done.ok) return done.message
    tell('Token revoked.', 'It is dead on every node.')
    router.refresh()
    return null
  }

  return (
    <>
      <Table aria-label="Tokens" className="max-wide:block">
        <thead className="max-wide:sr-only">
          <tr>
            <Th>Name</Th>
            <Th>Role</Th>
            <Th>Created by</Th>
            <Th>Expires</Th>
            <Th>Last use</Th>
            <Th>
              <span className="sr-only">Action</span>
            </Th>
          </tr>
        </thead>
        <tbody className="max-wide:block">
          {sorted.map((token) => (
            <Row key={token.id} token={token} forbiddenBy={forbiddenBy} onRevoke={() => setRevoking(token)} />
          ))}
        </tbody>
      </Table>
      <ConfirmDialog
        key={revoking?.id}
        open={revoking !== null}
        onOpenChange={(open) => !open && setRevoking(null)}
        title="Revoke token"
        about={revoking && `${revoking.name}, ${revoking.role}`}
        verb="Revoke"
        onConfirm={revoke}
      >
        <p>Whatever uses it gets 401 from now on, on every node. It can’t be undone.</p>
      </ConfirmDialog>
    </>
  )
}

interface RowProps {
  token: TokenView
  forbiddenBy: string | null
  onRevoke(): void
}

function Row({ token, forbiddenBy, onRevoke }: RowProps) {
  return (
    <tr className="max-wide:grid max-wide:grid-cols-[minmax(0,1fr)_auto] max-wide:gap-x-3 max-wide:border-b max-wide:border-line max-wide:py-2">
      <Td className={`${cell} font-medium [overflow-wrap:anywhere]`}>{token.name}</Td>
      <Td className={`${cell} max-wide:text-right`}>{token.role}</Td>
      <Td className={`${cell} text-text-2 max-wide:hidden`}>
        {token.createdBy.name}, <Instant at={token.createdAt} seconds={false} />
      </Td>
      <Td className={`${cell} text-text-2`}>
        <Expiry at={token.expiresAt} />
      </Td>
      <Td className={`${cell} text-text-2 max-wide:order-4 max-wide:self-center`}>
        {token.lastUsedAt ? <Age since={token.lastUsedAt} ago /> : 'never used'}
      </Td>
      <Td className={`${cell} py-0.5! text-right max-wide:order-5 max-wide:col-span-2`}>
        {token.revokedAt ? (
          <span className="text-text-2">
            revoked <Instant at={token.revokedAt} seconds={false} />
          </span>
        ) : (
          <Button
            aria-label={`Revoke ${token.name}…`}
            aria-disabled={forbiddenBy ? true : undefined}
            aria-describedby={forbiddenBy ?? undefined}
            onClick={() => !forbiddenBy && onRevoke()}
          >
            Revoke…
          </Button>
        )}
      </Td>
    </tr>
  )
}

function Expiry({ at }: { at: string | null }) {
  const now = useNow()
  if (!at) return 'never'
  const left = (new Date(at).getTime() - now) / 1000
  return (
    <time dateTime={at} title={at} suppressHydrationWarning>
      {left > 0 ? `in ${duration(left)}` : 'expired'}
    </time>
  )
}
