// The seven checks with what stands behind them, once a request.
import { cache } from 'react'
import { type Checked, checked } from './attention-words'
import { readAttention, readBackground, readSetting } from './reads'

export const readChecked = cache(async () => {
  const [attention, background, setting] = await Promise.all([readAttention(), readBackground(), readSetting()])
  if (!attention.ok) return attention
  if (!background.ok) return background
  if (!setting.ok) return setting
  const told = { background: background.value, pace: setting.value.pace, nowMs: Date.now() }
  const unknown = attention.value.find(({ concern }) => concern === 'oldest_unknown')
  const value: Checked & { oldestUnknownSeconds: number } = {
    ...checked(attention.value, told),
    oldestUnknownSeconds: unknown?.oldestSeconds ?? 0,
  }
  return { ok: true as const, value }
})
