'use client'
// The last look before something is done to many keys: what, to how many, and why. Cancel has the focus; what was typed
// stays until the run has begun.
import { useState, useTransition } from 'react'
import type { KeyFilter } from '../../../../lib/console/keys-filter'
import { printSearch } from '../../../../lib/console/search-text'
import type { BulkActionName } from '../../../../lib/maintenance/bulk-action'
import { Button } from '../../../_ui/button'
import { Dialog } from '../../../_ui/dialog'
import { ReasonField } from '../../../_ui/reason-field'
import { Failure } from '../../../_ui/section'
import { plural } from '../../../_ui/words'
import { beginBulkRun } from './actions'
import { BULK_WORDS } from './bulk-words'
import { useList } from './list-state'
import { hrefOf, type View } from './view'

interface BulkDialogProps {
  /** Null while it is closed. */
  action: BulkActionName | null
  onClose(): void
  view: View
  keys: { filter: KeyFilter } | { ids: string[] }
  many: number
}

export function BulkDialog({ action, onClose, view, keys, many }: BulkDialogProps) {
  const { go, clearSelection } = useList()
  const [reason, setReason] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [beginning, begin] = useTransition()

  if (!action) return null
  const words = BULK_WORDS[action]

  function start(action: BulkActionName) {
    if (reason.trim() === '') return setError('Say why: the audit log keeps it.')
    setFailure(null)
    begin(async () => {
      const result = await beginBulkRun({ action, keys, reason }).catch(() => null)
      if (!result) return setFailure('The server does not answer.')
      if (!result.ok) return setFailure(result.issues?.reason ?? result.message)
      setReason('')
      onClose()
      clearSelection()
      go(hrefOf({ ...view, run: result.value.id }))
    })
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => open || onClose()}
      title={words.title(plural(many, 'key'))}
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
          <Button autoFocus onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" disabled={beginning} onClick={() => start(action)}>
            {words.button}
          </Button>
        </>
      }
    >
      <div className="grid gap-4 px-5 py-4">
        <p className="text-text-2">{words.means}</p>
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
