'use client'
// Some of Radix's parts put a style element into the page: it carries the nonce of this page, or the browser's policy
// would leave it out. The page's own is that of its first answer: what it asks for later has nonces that are no use here.
import { setNonce } from 'get-nonce'

let known = false

export function Nonce({ value }: { value: string | undefined }) {
  if (value && !known && typeof window !== 'undefined') {
    setNonce(value)
    known = true
  }
  return null
}
