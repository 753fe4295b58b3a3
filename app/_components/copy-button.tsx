'use client'

import { useRef, useState } from 'react'
import styles from './button.module.css'
import { Icon } from './icon'

type Copied = 'not yet' | 'copied' | 'refused'

const WORDS: Record<Copied, string> = {
  'not yet': 'Copy',
  copied: 'Copied',
  // Browsers give the clipboard only to https and localhost.
  refused: 'Select it by hand',
}

const SHOWN_MS = 2000

export function CopyButton({ text }: { text: string }) {
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

  return (
    <button type="button" className={`${styles.button} ${styles.needsScript}`} onClick={copy}>
      <Icon name={copied === 'copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{WORDS[copied]}</span>
    </button>
  )
}
