'use client'
import { useRouter } from 'next/navigation'
import { useState } from 'react'
import { Button } from '../../../_ui/button'
import { ConfirmDialog } from '../../../_ui/confirm-dialog'
import { useToast } from '../../../_ui/toast'
import { count } from '../../../_ui/words'
import { updateTenant } from '../actions'

interface DisableProps {
  tenant: { id: string; name: string; disabled: boolean; apiKeyCount: number }
  forbiddenBy: string | null
}

export function Disable({ tenant: { id, name, disabled, apiKeyCount }, forbiddenBy }: DisableProps) {
  const router = useRouter()
  const tell = useToast()
  const [open, setOpen] = useState(false)
  const verb = disabled ? 'Enable' : 'Disable'
  const [oneDoes, manyDo] = disabled ? ['works', 'work'] : ['gets', 'get']
  const keys = apiKeyCount === 1 ? `Its one API key ${oneDoes}` : `Its ${count(apiKeyCount)} API keys ${manyDo}`

  async function confirm(reason: string | undefined) {
    const done = await updateTenant(id, { disabled: !disabled, reason })
    if (!done.ok) return done.message
    tell(`${name} is ${disabled ? 'enabled' : 'disabled'}.`, 'Every node has it within seconds.')
    router.refresh()
    return null
  }

  return (
    <>
      <Button
        aria-disabled={forbiddenBy ? true : undefined}
        aria-describedby={forbiddenBy ?? undefined}
        onClick={() => !forbiddenBy && setOpen(true)}
      >
        {verb}…
      </Button>
      <ConfirmDialog open={open} onOpenChange={setOpen} title={`${verb} ${name}`} verb={verb} onConfirm={confirm}>
        <p>
          {disabled
            ? `${keys} again within seconds, on every node.`
            : `${keys} 401 within seconds, on every node: no new request, no retry, no look-up. What is stored stays, and maintenance goes on.`}
        </p>
      </ConfirmDialog>
    </>
  )
}
