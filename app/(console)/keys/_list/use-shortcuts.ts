'use client'
// Single keys that do something on this page. Not while somebody types, and not behind a dialog or a menu.
import { useEffect, useEffectEvent } from 'react'

const TYPED_IN = 'input:not([type="checkbox"]), textarea, select, [contenteditable="true"]'
const ABOVE = '[role="dialog"], [role="alertdialog"], [role="menu"]'

export function useShortcuts(press: (event: KeyboardEvent) => void): void {
  const heard = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if ((event.target as HTMLElement).closest?.(TYPED_IN) || document.querySelector(ABOVE)) return
    press(event)
  })
  useEffect(() => {
    document.addEventListener('keydown', heard)
    return () => document.removeEventListener('keydown', heard)
  }, [])
}
