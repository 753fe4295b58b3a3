'use client'
// Where one is signed in. Ending the others leaves the one that is looked at from.
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import type { OwnSession } from '../../../lib/operators/account'
import { Button } from '../../_ui/button'
import { Failure } from '../../_ui/section'
import { Table, Td, Th } from '../../_ui/table'
import { Age, Instant } from '../../_ui/time'
import { useToast } from '../../_ui/toast'
import { plural } from '../../_ui/words'
import { endOtherSessions } from './actions'

export function OwnSessions({ sessions }: { sessions: readonly OwnSession[] }) {
  const router = useRouter()
  const tell = useToast()
  const [failure, setFailure] = useState<string | null>(null)
  const [ending, end] = useTransition()

  const endOthers = () =>
    end(async () => {
      const ended = await endOtherSessions()
      setFailure(ended.ok ? null : ended.message)
      if (!ended.ok) return
      tell(`${plural(ended.value, 'session')} ended.`)
      router.refresh()
    })

  return (
    <div className="grid gap-3">
      <Table aria-label="Sessions">
        <thead>
          <tr>
            <Th>Signed in</Th>
            <Th>Last use</Th>
          </tr>
        </thead>
        <tbody>
          {sessions.map(({ id, since, lastUsedAt, current }) => (
            <tr key={id}>
              <Td>
                <Instant at={since} seconds={false} />
                {current && <span className="text-text-2"> (this one)</span>}
              </Td>
              <Td className="text-text-2">{current ? 'now' : <Age since={lastUsedAt} ago />}</Td>
            </tr>
          ))}
        </tbody>
      </Table>
      {failure && <Failure>{failure}</Failure>}
      {sessions.length > 1 && (
        <div>
          <Button onClick={endOthers} disabled={ending}>
            End the other sessions
          </Button>
        </div>
      )}
    </div>
  )
}
