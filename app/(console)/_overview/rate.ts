// How many a minute, as people read it. Pure.

export function rate(perMinute: number): string {
  if (perMinute === 0) return '0'
  if (perMinute < 0.05) return '< 0.1/min'
  return `${perMinute < 10 ? perMinute.toFixed(1).replace(/\.0$/, '') : Math.round(perMinute).toLocaleString('en')}/min`
}

export const spokenRate = (perMinute: number): string =>
  rate(perMinute).replace('< ', 'less than ').replace('/min', ' a minute')
