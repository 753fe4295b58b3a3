'use client'
import { useState } from 'react'
import { CopyButton } from '../../../_ui/copy-button'

/** The page as a colleague should see it: without the list that one came from. */
export function CopyLink({ path }: { path: string }) {
  const [origin] = useState(() => (typeof window === 'undefined' ? '' : window.location.origin))
  return <CopyButton text={origin + path} label="Copy link" />
}
