'use client'
// Tokens, those that work first. A revoked one stays in the list, so that what was done with it can still be told.
import { useRouter } from 'next/navigation'
import { useState } from 'react'
import type { ColleagueView } from '../../../lib/console/access-use-cases'
import type { TokenView } from '../../../lib/operators/tokens'
import { Button } from '../../_ui/button'
import { ConfirmDialog } from '../../_ui/confirm-dialog'
import { SelectField } from '../../_ui/field'
import { Table, Td, Th } from '../../_ui/table'
import { Age, Instant, useNow } from '../../_ui/time'
import { useToast } from '../../_ui/toast'
import { duration } from '../../_ui/words'
import { handTokenOver, revokeToken } from './actions'

const cell = 'max-wide:h-auto max-wide:border-0 max-wide:py-0 max-wide:pr-0'

interface TokensTableProps {
  tokens: readonly TokenView[]
  /** To whom one can be handed over. */
  heirs: readonly Heir[]
  forbiddenBy: string | null
}

type Heir = Pick<ColleagueView, 'id' | 'name'>

export function TokensTable({ tokens, heirs, forbiddenBy }: TokensTableProps) {
  const router = useRouter()
  const tell = useToast()
  const [revoking, setRevoking] = useState<TokenView | null>(null)
  const [handing, setHanding] = useState<TokenView | null>(null)
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
            <Th>Belongs to</Th>
            <Th>Expires</Th>
            <Th>Last use</Th>
            <Th>
              <span className="sr-only">Action</span>
            </Th>
          </tr>
        </thead>
        <tbody className="max-wide:block">
          {sorted.map((token) => (
            <Row
              key={token.id}
              token={token}
              forbiddenBy={forbiddenBy}
              onHandOver={() => setHanding(token)}
              onRevoke={() => setRevoking(token)}
            />
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
      {handing && <HandOver key={handing.id} token={handing} heirs={heirs} onClose={() => setHanding(null)} />}
    </>
  )
}

function HandOver({ token, heirs, onClose }: { token: TokenView; heirs: readonly Heir[]; onClose(): void }) {
  const router = useRouter()
  const tell = useToast()
  const others = heirs.filter(({ id }) => id !== token.owner?.id)
  const [ownerId, setOwnerId] = useState(others[0]?.id ?? '')

  async function handOver(reason: string | undefined) {
    const done = await handTokenOver(token.id, { ownerId, reason })
    if (!done.ok) return done.message
    tell('Token handed over.', `It belongs to ${done.value.owner?.name} now.`)
    router.refresh()
    return null
  }

  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Hand token over"
      about={`${token.name}, ${token.role}`}
      verb="Hand over"
      onConfirm={handOver}
    >
      <SelectField label="To" value={ownerId} onChange={(event) => setOwnerId(event.target.value)}>
        {others.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <p>It goes on working, with the same secret. It ends when the person that it belongs to is disabled.</p>
    </ConfirmDialog>
  )
}

interface RowProps {
  token: TokenView
  forbiddenBy: string | null
  onHandOver(): void
  onRevoke(): void
}

function Row({ token, forbiddenBy, onHandOver, onRevoke }: RowProps) {
  return (
    <tr className="max-wide:grid max-wide:grid-cols-[minmax(0,1fr)_auto] max-wide:gap-x-3 max-wide:border-b max-wide:border-line max-wide:py-2">
      <Td className={`${cell} font-medium [overflow-wrap:anywhere]`}>{token.name}</Td>
      <Td className={`${cell} max-wide:text-right`}>{token.role}</Td>
      <Td className={`${cell} text-text-2 max-wide:order-3 max-wide:col-span-2`}>
        <span title={`Created by ${token.createdBy.name}`}>{token.owner?.name ?? 'nobody: ends by being revoked'}</span>
        <span className="max-wide:hidden">
          , created <Instant at={token.createdAt} seconds={false} />
        </span>
      </Td>
      <Td className={`${cell} text-text-2 max-wide:order-4`}>
        <Expiry at={token.expiresAt} />
      </Td>
      <Td className={`${cell} text-text-2 max-wide:order-5 max-wide:text-right`}>
        {token.lastUsedAt ? <Age since={token.lastUsedAt} ago /> : 'never used'}
      </Td>
      <Td className={`${cell} py-0.5! text-right max-wide:order-6 max-wide:col-span-2`}>
        {token.revokedAt ? (
          <span className="text-text-2">
            revoked <Instant at={token.revokedAt} seconds={false} />
          </span>
        ) : (
          <span className="inline-flex gap-2">
            {!forbiddenBy && (
              <Button aria-label={`Hand ${token.name} over…`} onClick={onHandOver}>
                Hand over…
              </Button>
            )}
            <Button
              aria-label={`Revoke ${token.name}…`}
              aria-disabled={forbiddenBy ? true : undefined}
              aria-describedby={forbiddenBy ?? undefined}
              onClick={() => !forbiddenBy && onRevoke()}
            >
              Revoke…
            </Button>
          </span>
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
