const number = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const UNITS = [
  { seconds: 86_400, one: 'day', from: 2 },
  { seconds: 3600, one: 'hour', from: 1 },
  { seconds: 60, one: 'minute', from: 1 },
  { seconds: 1, one: 'second', from: 0 },
] as const

/** A setting as people say it: 7 days, 24 hours, 90 minutes, 1 second. The largest unit in which it is a whole number. */
export function span(seconds: number): string {
  const unit = UNITS.find(({ seconds: each, from }) => seconds >= each * from && seconds % each === 0) ?? UNITS[3]
  const n = seconds / unit.seconds
  return `${number.format(n)} ${unit.one}${n === 1 ? '' : 's'}`
}
