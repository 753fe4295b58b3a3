// Axes: round numbers up the side, a few times along the foot. Pure.
import type { Window } from '../../../lib/console/window'

/** Ends at a round number, at least as high as the highest value, and has about as many steps as asked for. */
export function niceTicks(most: number, steps: number): number[] {
  if (!(most > 0)) return [0, 1]
  const rough = most / steps
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 3, 5, 10].map((times) => times * power).find((one) => one >= rough * 0.999) ?? 10 * power
  const count = Math.ceil(most / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)))
}

/** Whole numbers for what is counted. */
export const countTicks = (most: number, steps: number): number[] =>
  most <= steps ? Array.from({ length: Math.max(1, Math.ceil(most)) + 1 }, (_, i) => i) : niceTicks(most, steps)

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 5, 10, 15, 20, 30, 60, 120, 300, 600]
const HOURS = [900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 48 * 3600, 96 * 3600, 168 * 3600]

/** Steps of the clock, not of ten. */
export function secondTicks(most: number, steps: number): number[] {
  const step = [...SECONDS, ...HOURS].find((one) => most / one <= steps + 1e-9) ?? 168 * 3600
  const count = Math.max(1, Math.ceil(most / step - 1e-9))
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)))
}

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** Short: what is exact is under the pointer and in the table. */
export const countWord = (value: number): string =>
  value < 10_000 ? number.format(value) : compact.format(value).replace('K', 'k')

/** In the unit of the axis' end, so that all of its numbers have the same. */
export function secondWord(seconds: number, most: number): string {
  if (seconds === 0) return '0'
  if (most < 1) return `${number.format(seconds * 1000)} ms`
  if (most < 120) return `${number.format(seconds)} s`
  if (most < 7200) return `${number.format(seconds / 60)} min`
  return most < 4 * 86_400 ? `${number.format(seconds / 3600)} h` : `${number.format(seconds / 86_400)} d`
}

/** The places of the times that are written under a chart; the last one is now. */
export const timeTicks = (points: readonly { at: string }[], count: number): string[] =>
  Array.from({ length: count }, (_, i) => points[Math.floor((i * (points.length - 1)) / count)]?.at ?? '').concat(
    points.at(-1)?.at ?? '',
  )

const formats = new Map<string, Intl.DateTimeFormat>()

/** By the width of the window: 14:02, or 16 Nov. */
export function timeWord(at: string, window: Window, zone: string): string {
  const name = `${window} ${zone}`
  let format = formats.get(name)
  if (!format) {
    const isShort = window === '1h' || window === '24h'
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      ...(isShort ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short' }),
    })
    formats.set(name, format)
  }
  return format.format(new Date(at))
}

/** With the day where the window has more than one. */
export function stepWord(at: string, window: Window, zone: string): string {
  const name = `step ${window} ${zone}`
  let format = formats.get(name)
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      hour: '2-digit',
      minute: '2-digit',
      ...(window === '1h' ? {} : { day: 'numeric', month: 'short' }),
    })
    formats.set(name, format)
  }
  return format.format(new Date(at))
}
