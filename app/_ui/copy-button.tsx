'use client'

import { Check, Copy } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from './button'

type Copied = 'not yet' | 'copied' | 'refused'

const SHOWN_MS = 2000

/** With a word, or as an icon whose name says what it copies. */
export function CopyButton({ text, label = 'Copy', icon = false }: { text: string; label?: string; icon?: boolean }) {
  const [copied, setCopied] = useState<Copied>('not yet')
  const back = useRef<ReturnType<typeof setTimeout>>(undefined)

  async function copy() {
    const outcome = await navigator.clipboard?.writeText(text).then(
      () => 'copied' as const,
      () => 'refused' as const,
    )
    setCopied(outcome ?? 'refused')
    clearTimeout(back.current)
    back.current = setTimeout(() => setCopied('not yet'), SHOWN_MS)
  }

  // Browsers give the clipboard only to https and localhost.
  const word = { 'not yet': label, copied: 'Copied', refused: 'Select it by hand' }[copied]
  const Icon = copied === 'copied' ? Check : Copy
  return (
    <Button
      kind={icon ? 'quiet' : 'plain'}
      size={icon ? 'icon' : 'normal'}
      onClick={copy}
      title={icon ? word : undefined}
    >
      <Icon size={14} aria-hidden />
      <span aria-live="polite" className={icon ? 'sr-only' : undefined}>
        {word}
      </span>
    </Button>
  )
}
