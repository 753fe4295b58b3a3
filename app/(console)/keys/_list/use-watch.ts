'use client'
// Every few seconds: how many rows came in above what is shown, and how the shown ones stand. Those are brought up to
// date in their places; while rows are selected they stay as they were when they were chosen.
import { useEffect, useEffectEvent, useState } from 'react'
import type { KeyRow } from '../../../../lib/console/key-rows'
import { watch } from './actions'
import { useList } from './list-state'
import type { View } from './view'

const EVERY_MS = 5000

interface Watching {
  view: View
  rows: KeyRow[]
  since: { createdAt: string; id: string }
}

export function useWatch({ view, rows, since }: Watching): KeyRow[] {
  const { selection, setNews } = useList()
  const [now, setNow] = useState({ of: rows, rows })
  const isHeld = Object.keys(selection).length > 0

  const look = useEffectEvent(async (isCurrent: () => boolean) => {
    const answer = await watch({ filter: view.filter, since, ids: rows.map(({ id }) => id) }).catch(() => null)
    if (!isCurrent()) return
    if (!answer?.ok) return setNews({ fresh: 0, failed: true })
    setNews({ fresh: answer.value.fresh, failed: false })
    if (isHeld) return
    const found = new Map(answer.value.rows.map((row) => [row.id, row]))
    setNow({ of: rows, rows: rows.map((row) => found.get(row.id) ?? row) })
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: another page of rows is watched from its beginning
  useEffect(() => {
    setNews({ fresh: 0, failed: false })
    let current = true
    let asking = false
    const timer = setInterval(async () => {
      if (asking || document.visibilityState !== 'visible') return
      asking = true
      await look(() => current)
      asking = false
    }, EVERY_MS)
    return () => {
      current = false
      clearInterval(timer)
    }
  }, [rows, setNews])

  return now.of === rows ? now.rows : rows
}
