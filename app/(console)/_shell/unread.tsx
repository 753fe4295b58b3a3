'use client'
// In the place of what could not be read. Everything else on the page stays.
import { useRouter } from 'next/navigation'
import { useTransition } from 'react'
import { Button } from '../../_ui/button'
import { Failure } from '../../_ui/section'

/** `what`: The tenants. `why`: a sentence. */
export function Unread({ what, why }: { what: string; why: string }) {
  const router = useRouter()
  const [asking, ask] = useTransition()
  return (
    <Failure
      action={
        <Button disabled={asking} onClick={() => ask(() => router.refresh())}>
          Try again
        </Button>
      }
    >
      {what} can’t be read just now. {why}
    </Failure>
  )
}
