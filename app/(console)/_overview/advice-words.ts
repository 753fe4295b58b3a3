// Advice from measurement, in words and on a scale. With too little measured there is none, and that is said. Pure.
import type { Advice } from '../../../lib/console/advice'
import { count } from '../../_ui/words'

export interface AdviceWords {
  kind: 'change' | 'keep' | 'unknown'
  title: string
  detail: string
  scale: ScaleView | null
}

export interface ScaleView {
  /** What the end of the scale stands for. */
  most: number
  /** As it is set. */
  set: { value: number; label: string }
  marks: { value: number; label: string }[]
}

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400
/** So that the last mark's label has room. */
const MARGIN = 1.08

/** In one unit, as settings are thought of: 29 s, 40 min, 31 h, 7 d. A number and its unit stay on one line. */
export function span(seconds: number): string {
  const short = (n: number) => (n < 10 ? n.toFixed(1).replace(/\.0$/, '') : count(n))
  if (seconds < 1) return `${count(seconds * 1000)}\u00a0ms`
  if (seconds < 2 * MINUTE) return `${short(seconds)}\u00a0s`
  if (seconds < 2 * HOUR) return `${short(seconds / MINUTE)}\u00a0min`
  return seconds < 4 * DAY ? `${short(seconds / HOUR)}\u00a0h` : `${short(seconds / DAY)}\u00a0d`
}

export function retentionWords(of: Advice['retention']): AdviceWords {
  const { enough, samples, p90Seconds, p99Seconds, p999Seconds, retentionSeconds, recommendedSeconds } = of
  const set = { value: retentionSeconds, label: `kept ${span(retentionSeconds)}` }
  const known = [
    { value: p90Seconds, label: '90 %' },
    { value: p99Seconds, label: '99 %' },
    { value: p999Seconds, label: '99.9 %' },
  ].flatMap(({ value, label }) => (value === null ? [] : [{ value, label: `${label}: ${span(value)}` }]))
  const most = MARGIN * Math.max(retentionSeconds, ...known.map(({ value }) => value))
  if (!enough)
    return {
      kind: 'unknown',
      title: 'No advice on retention yet',
      detail: `${count(samples)} replays measured in 30 days; it takes 1,000. Keys are kept ${span(retentionSeconds)}.`,
      scale: null,
    }
  const scale = { most, set, marks: known }
  if (!of.warn)
    return {
      kind: 'keep',
      title: 'Keys are kept long enough',
      detail: `99.9 % of replays come within ${span(p999Seconds ?? 0)}, and keys are kept ${span(retentionSeconds)}.`,
      scale,
    }
  const longer = recommendedSeconds === null ? 'more than 7 d' : span(recommendedSeconds)
  return {
    kind: 'change',
    title: `Keep keys longer: ${longer}, not ${span(retentionSeconds)}`,
    detail: `${percent(of.tooLateShare ?? 0)} of replays come after the key is gone and get a 410. ${
      recommendedSeconds === null ? 'Longer than 7 d' : longer
    } would answer 99.9 % of them.`,
    scale,
  }
}

export function leaseWords(of: Advice['lease']): AdviceWords {
  const { enough, samples, p99Seconds, leaseSeconds, recommendedSeconds, warn } = of
  if (!enough || p99Seconds === null || recommendedSeconds === null)
    return {
      kind: 'unknown',
      title: 'No advice on the lease yet',
      detail: `${count(samples)} attempts measured in 7 days; it takes 500. The lease is ${span(leaseSeconds)}.`,
      scale: null,
    }
  const times = leaseSeconds / p99Seconds
  const timesWord = `${times < 10 ? times.toFixed(1) : count(times)} times the measured p99`
  const scale = {
    most: MARGIN * Math.max(leaseSeconds, 3 * p99Seconds),
    set: { value: leaseSeconds, label: `lease ${span(leaseSeconds)}` },
    marks: [
      { value: p99Seconds, label: `p99 ${span(p99Seconds)}` },
      { value: 2 * p99Seconds, label: '2×' },
      { value: 3 * p99Seconds, label: `3× is ${span(3 * p99Seconds)}` },
    ],
  }
  if (warn)
    return {
      kind: 'change',
      title: `Lengthen the lease: ${span(recommendedSeconds)}, not ${span(leaseSeconds)}`,
      detail: `${span(leaseSeconds)} is only ${timesWord}. Outcomes become unknown that are only slow.`,
      scale,
    }
  const sooner =
    recommendedSeconds < leaseSeconds / 1.5
      ? ` Three times is enough: ${span(recommendedSeconds)} would free the key of a crashed owner sooner.`
      : ''
  return {
    kind: 'keep',
    title: 'The lease is long enough',
    detail: `${span(leaseSeconds)} is ${timesWord}.${sooner}`,
    scale,
  }
}

const percent = (share: number): string => (share < 0.001 ? 'Less than 0.1 %' : `${(share * 100).toFixed(1)} %`)
