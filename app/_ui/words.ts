// Numbers, amounts and durations as people read them. Pure, and the same on the server and in the browser.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

export const count = (n: number): string => whole.format(n)

/** A count that may be an estimate, which is marked and rounded: ≈ 921k. */
export const stateCount = ({ count: n, estimated }: { count: number; estimated: boolean }): string =>
  estimated ? `≈ ${compact.format(n).replace('K', 'k')}` : whole.format(n)

export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`

const NUMBERS = 'No One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve'.split(' ')

/** To begin a sentence with. */
export const numberWord = (n: number): string => NUMBERS[n] ?? count(n)

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

/** At most two units, the larger one first: 41 ms, 9.8 s, 10 min 04 s, 6 h 41 min, 3 d 2 h. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds)
  if (s < 1) return `${Math.round(s * 1000)} ms`
  if (s < 10) return `${(Math.floor(s * 10) / 10).toFixed(1).replace(/\.0$/, '')} s`
  if (s < MINUTE) return `${Math.floor(s)} s`
  const two = (n: number) => String(n).padStart(2, '0')
  if (s < HOUR) return `${Math.floor(s / MINUTE)} min ${two(Math.floor(s % MINUTE))} s`
  if (s < DAY) return `${Math.floor(s / HOUR)} h ${two(Math.floor((s % HOUR) / MINUTE))} min`
  return `${Math.floor(s / DAY)} d ${Math.floor((s % DAY) / HOUR)} h`
}

/** Minutes and seconds left: 29:35; with hours where there are any. */
export function countdown(seconds: number): string {
  const s = Math.max(0, Math.ceil(seconds))
  const two = (n: number) => String(n).padStart(2, '0')
  const hours = Math.floor(s / HOUR)
  const rest = `${hours ? two(Math.floor((s % HOUR) / MINUTE)) : Math.floor(s / MINUTE)}:${two(s % MINUTE)}`
  return hours ? `${hours}:${rest}` : rest
}

/** In the currency's own smallest unit, as the API has it. */
export const money = (cents: number, currency: string): string => `${currency} ${amountIn(cents, currency)}`

/** The same where the currency is named elsewhere. */
export const amountIn = (cents: number, currency: string): string =>
  amount(
    cents,
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2,
  )

export const amount = (cents: number, digits = 2): string =>
  new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(
    cents / 10 ** digits,
  )

/** The part of an endpoint that people say: orders, refunds. */
export const endpointWord = (endpoint: string): string => endpoint.split('/').at(-1) ?? endpoint
