'use client'
// Some of Radix's parts put a style element into the page: it carries the nonce of this page, or the browser's policy
// would leave it out.
import { setNonce } from 'get-nonce'

export function Nonce({ value }: { value: string | undefined }) {
  if (value && typeof window !== 'undefined') setNonce(value)
  return null
}
