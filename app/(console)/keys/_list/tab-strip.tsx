'use client'
// A row of tabs that is wider than a phone: the current one is always in sight.
import { type ReactNode, useEffect, useRef } from 'react'

export function TabStrip({ current, children }: { current: string; children: ReactNode }) {
  const strip = useRef<HTMLElement>(null)
  useEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>(`[data-tab="${current}"]`)
    if (strip.current && tab)
      strip.current.scrollLeft = tab.offsetLeft - (strip.current.clientWidth - tab.offsetWidth) / 2
  }, [current])
  return (
    <nav
      ref={strip}
      aria-label="States"
      className="relative mt-1 flex gap-1 overflow-x-auto border-b border-line-strong px-[calc(var(--gutter)-10px)] [scrollbar-width:none]"
    >
      {children}
    </nav>
  )
}
