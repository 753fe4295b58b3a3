'use client'
// To the next key of the list that one came from, by button or by key. Nothing happens while somebody types or decides.
import { ChevronDown, ChevronUp } from 'lucide-react'
import Link from 'next/link'
import { useRouter } from 'next/navigation'
import { useEffect } from 'react'
import { Button } from '../../../_ui/button'

interface NeighbourProps {
  newer: string | null
  older: string | null
}

export function Neighbours({ newer, older }: NeighbourProps) {
  const router = useRouter()
  useEffect(() => {
    const go = (event: KeyboardEvent) => {
      const to = { k: newer, j: older }[event.key]
      if (!to || event.metaKey || event.ctrlKey || event.altKey || isBusy(event.target)) return
      event.preventDefault()
      router.push(to)
    }
    document.addEventListener('keydown', go)
    return () => document.removeEventListener('keydown', go)
  }, [newer, older, router])
  return (
    <>
      <Neighbour to={newer} name="Newer" letter="K" icon={<ChevronUp size={14} aria-hidden />} />
      <Neighbour to={older} name="Older" letter="J" icon={<ChevronDown size={14} aria-hidden />} />
    </>
  )
}

const isBusy = (target: EventTarget | null): boolean =>
  document.querySelector('[role="dialog"]') !== null ||
  (target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null)

function Neighbour({
  to,
  name,
  letter,
  icon,
}: {
  to: string | null
  name: string
  letter: string
  icon: React.ReactNode
}) {
  const inside = (
    <>
      <span className="wide:hidden">{icon}</span>
      <span className="max-wide:sr-only">{name}</span>
      <kbd
        aria-hidden
        className="rounded-1 border border-line-strong px-1 font-sans text-11 text-text-2 max-wide:hidden"
      >
        {letter}
      </kbd>
    </>
  )
  if (!to)
    return (
      <Button disabled title={`There is no ${name.toLowerCase()} one`}>
        {inside}
      </Button>
    )
  return (
    <Button asChild>
      <Link href={to} aria-keyshortcuts={letter.toLowerCase()} prefetch={false}>
        {inside}
      </Link>
    </Button>
  )
}
