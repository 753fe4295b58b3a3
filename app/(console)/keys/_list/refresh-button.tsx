'use client'
import { Button } from '../../../_ui/button'
import { useList } from './list-state'

export function RefreshButton() {
  const { refresh, pending } = useList()
  return (
    <Button onClick={refresh} disabled={pending}>
      Try again
    </Button>
  )
}
