'use client'
// The last look before the provider is asked about many keys: how many, and why. Cancel has the focus; what was typed
// stays until the run has begun.
import { useState, useTransition } from 'react'
import type { KeyFilter } from '../../../../lib/console/keys-filter'
import { printSearch } from '../../../../lib/console/search-text'
import { Button } from '../../../_ui/button'
import { Dialog } from '../../../_ui/dialog'
import { ReasonField } from '../../../_ui/reason-field'
import { Failure } from '../../../_ui/section'
import { plural } from '../../../_ui/words'
import { askAboutKeys } from './actions'
import { useList } from './list-state'
import { hrefOf, type View } from './view'

interface AskDialogProps {
  open: boolean
  onOpenChange(open: boolean): void
  view: View
  keys: { filter: KeyFilter } | { ids: string[] }
  many: number
}

export function AskDialog({ open, onOpenChange, view, keys, many }: AskDialogProps) {
  const { go, clearSelection } = useList()
  const [reason, setReason] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [beginning, begin] = useTransition()

  function ask() {
    if (reason.trim() === '') return setError('Say why: the audit log keeps it.')
    setFailure(null)
    begin(async () => {
      const result = await askAboutKeys({ keys, reason }).catch(() => null)
      if (!result) return setFailure('The server does not answer.')
      if (!result.ok) return setFailure(result.issues?.reason ?? result.message)
      setReason('')
      onOpenChange(false)
      clearSelection()
      go(hrefOf({ ...view, run: result.value.id }))
    })
  }

  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={`Ask the provider about ${plural(many, 'key')}`}
      about={
        'filter' in keys ? (
          <>
            Everything that matches <code>{printSearch(keys.filter) || 'the whole list'}</code> when it begins.
          </>
        ) : (
          'Those that you selected.'
        )
      }
      note={beginning ? 'It begins.' : 'It can be stopped at any time.'}
      buttons={
        <>
          <Button autoFocus onClick={() => onOpenChange(false)}>
            Cancel
          </Button>
          <Button kind="primary" disabled={beginning} onClick={ask}>
            Ask the provider
          </Button>
        </>
      }
    >
      <div className="grid gap-4 px-5 py-4">
        <p className="text-text-2">
          One look-up for each key. An unknown outcome is settled where the answer is proof; of every other key it is
          reported what the provider says, and nothing changes.
        </p>
        <ReasonField
          value={reason}
          error={error}
          onChange={(text) => {
            setReason(text)
            setError(null)
          }}
        />
        {failure && <Failure>It was not begun. {failure}</Failure>}
      </div>
    </Dialog>
  )
}
