// What people type into the search box: words, and qualifiers such as `state:unknown age:>10m`. A filter is printed in
// one way only, and what is printed is read as the same filter. Pure, and the same on the server and in the browser.
import { STATES, type State } from '../idempotency/states'
import type { KeyFilter } from './keys-filter'

/** In the order in which they are printed and offered. */
export const QUALIFIERS = ['state', 'tenant', 'endpoint', 'error', 'age', 'order', 'ref', 'dead', 'from', 'to'] as const
export type Qualifier = (typeof QUALIFIERS)[number]

const MIN_SEARCH = 3
const LONGEST = 255
const LONGEST_ERROR = 100
const TEN_YEARS_SECONDS = 10 * 366 * 86_400
const UNITS = { w: 604_800, d: 86_400, h: 3600, m: 60, s: 1 } as const

/** One word of the text, with the place where it stands. */
export interface Token {
  start: number
  end: number
  /** Null for a word without one. */
  name: Qualifier | null
  /** Unquoted. */
  value: string
  /** Where the value begins in the text. */
  valueStart: number
}

export interface SearchIssue {
  message: string
  start: number
  end: number
}
export type SearchText = { ok: true; filter: KeyFilter } | { ok: false; issue: SearchIssue }

/** A quote is one only where a value begins; a colon belongs to a qualifier only behind a name that is known. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    if (/\s/.test(text[at]!)) {
      at++
      continue
    }
    const named = /^([a-z]+):/i.exec(text.slice(at, at + 20))?.[1]?.toLowerCase()
    const name = QUALIFIERS.find((qualifier) => qualifier === named) ?? null
    const valueStart = name ? at + name.length + 1 : at
    const { value, end } = text[valueStart] === '"' ? quoted(text, valueStart) : bare(text, valueStart)
    tokens.push({ start: at, end, name, value, valueStart })
    at = end
  }
  return tokens
}

function bare(text: string, start: number): { value: string; end: number } {
  const length = text.slice(start).search(/\s/)
  const end = length < 0 ? text.length : start + length
  return { value: text.slice(start, end), end }
}

/** Up to its end, or to that of the text: somebody may still be typing. */
function quoted(text: string, start: number): { value: string; end: number } {
  let value = ''
  let at = start + 1
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === '\\' && at + 1 < text.length) at++
    value += text[at]
  }
  return { value, end: Math.min(at + 1, text.length) }
}

export function parseSearch(text: string): SearchText {
  const filter: KeyFilter = {}
  const words: Token[] = []
  for (const token of tokensOf(text)) {
    if (token.name === null && token.value.toLowerCase() === 'dead' && text[token.start] !== '"') token.name = 'dead'
    if (token.name === null) {
      words.push(token)
      continue
    }
    const message = READERS[token.name](filter, token.value)
    if (message) return refused(token, message)
  }
  const [first, last] = [words[0], words.at(-1)]
  if (!first || !last) return { ok: true, filter }
  const q = words
    .map(({ value }) => value)
    .join(' ')
    .trim()
  const message = searchable(q, MIN_SEARCH, LONGEST)
  if (message) return refused({ start: first.start, end: last.end }, message)
  return { ok: true, filter: { ...filter, q } }
}

const refused = ({ start, end }: { start: number; end: number }, message: string): SearchText => ({
  ok: false,
  issue: { message, start, end },
})

/** PostgreSQL can't compare with a NUL, and a lone surrogate has no UTF-8. */
function searchable(value: string, min: number, max: number): string | null {
  const { length } = [...value]
  if (length < min) return `Type at least ${min} characters to search for.`
  if (length > max) return `Nothing that can be found is longer than ${max} characters.`
  return value.includes('\0') || !value.isWellFormed() ? 'This has a character that no key can have.' : null
}

/** Puts the value into the filter, or says what is wrong with it. */
type Reader = (filter: KeyFilter, value: string) => string | null

type TextMember = 'tenant' | 'endpoint' | 'error' | 'order' | 'ref'

/** With an empty value: what is missing. */
const textOf =
  (member: TextMember, min: number, max: number, needs: string): Reader =>
  (filter, given) => {
    const value = given.trim()
    if (filter[member] !== undefined) return `${member}: is given twice.`
    if (value === '') return `${member}: needs ${needs}.`
    const message = searchable(value, min, max)
    if (!message) filter[member] = value
    return message
  }

const READERS: Record<Qualifier, Reader> = {
  state: readState,
  tenant: textOf('tenant', 1, LONGEST, 'the name or the id of a tenant'),
  endpoint: textOf('endpoint', 1, LONGEST, 'an endpoint or a part of its name, such as endpoint:refunds'),
  error: textOf('error', 1, LONGEST_ERROR, 'a code or a part of it, such as error:timeout'),
  age: readAge,
  order: textOf('order', MIN_SEARCH, LONGEST, 'the id of an order, or how it begins'),
  ref: textOf('ref', MIN_SEARCH, LONGEST, 'a provider’s reference, or how it begins'),
  dead: readDead,
  from: (filter, value) => readInstant(filter, 'createdFrom', 'from', value),
  to: (filter, value) => readInstant(filter, 'createdTo', 'to', value),
}

function readState(filter: KeyFilter, value: string): string | null {
  const wanted = new Set(filter.state)
  for (const given of value.toLowerCase().replaceAll('-', '_').split(',')) {
    const state = given === 'failed' ? 'failed_retryable' : STATES.find((one) => one === given)
    if (!state)
      return `${value ? `No state is called ${given}` : 'state: needs a state'}. There are ${STATES.join(', ')}.`
    wanted.add(state)
  }
  filter.state = inOrder([...wanted])
  return null
}

const inOrder = (states: readonly State[]): State[] => STATES.filter((state) => states.includes(state))

function readAge(filter: KeyFilter, value: string): string | null {
  const [, sign, number, unit] = /^([<>])=?(\d+(?:\.\d+)?)([smhdw])$/i.exec(value) ?? []
  if (!sign || !number || !unit) return 'age: needs > or <, a number and s, m, h, d or w, such as age:>10m.'
  const member = sign === '>' ? 'minAgeSeconds' : 'maxAgeSeconds'
  if (filter[member] !== undefined) return `age:${sign} is given twice.`
  const seconds = Math.round(Number(number) * UNITS[unit.toLowerCase() as keyof typeof UNITS])
  if (seconds > TEN_YEARS_SECONDS) return 'No key is older than ten years.'
  filter[member] = seconds
  return null
}

function readDead(filter: KeyFilter, value: string): string | null {
  if (filter.deadLettered !== undefined) return 'dead is given twice.'
  const word = value.toLowerCase()
  if (word !== 'dead' && word !== 'true' && word !== 'false') return 'dead: is true or false.'
  filter.deadLettered = word !== 'false'
  return null
}

function readInstant(
  filter: KeyFilter,
  member: 'createdFrom' | 'createdTo',
  name: string,
  value: string,
): string | null {
  if (filter[member] !== undefined) return `${name}: is given twice.`
  const at = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?$/i.test(value)
    ? new Date(value)
    : null
  if (!at || Number.isNaN(at.getTime()) || at.getUTCFullYear() < 1)
    return `${name}: needs a day or an instant, such as ${name}:2026-11-16T14:00Z.`
  filter[member] = at.toISOString()
  return null
}

/** The box's text for a filter. */
export function printSearch(filter: KeyFilter): string {
  const { q, state = [], minAgeSeconds, maxAgeSeconds, deadLettered, createdFrom, createdTo } = filter
  const given = (name: Qualifier, value: string | undefined): string[] =>
    value === undefined ? [] : [`${name}:${valueText(value)}`]
  return [
    ...inOrder(state).map((one) => `state:${one}`),
    ...given('tenant', filter.tenant),
    ...given('endpoint', filter.endpoint),
    ...given('error', filter.error),
    ...given('age', minAgeSeconds === undefined ? undefined : `>${ageText(minAgeSeconds)}`),
    ...given('age', maxAgeSeconds === undefined ? undefined : `<${ageText(maxAgeSeconds)}`),
    ...given('order', filter.order),
    ...given('ref', filter.ref),
    ...given('dead', deadLettered === undefined ? undefined : String(deadLettered)),
    ...given('from', createdFrom?.replace('.000Z', 'Z')),
    ...given('to', createdTo?.replace('.000Z', 'Z')),
    ...(q === undefined ? [] : [wordsText(q)]),
  ].join(' ')
}

/** As a value behind its colon. */
export const valueText = (value: string): string => (/^[^\s"]\S*$/.test(value) ? value : inQuotes(value))

const inQuotes = (value: string): string => `"${value.replace(/["\\]/g, '\\$&')}"`

/** As it is, where it is read as the same words again. */
function wordsText(q: string): string {
  const again = parseSearch(q)
  return again.ok && again.filter.q === q && Object.keys(again.filter).length === 1 ? q : inQuotes(q)
}

function ageText(seconds: number): string {
  const [unit, size] = Object.entries(UNITS).find(([, size]) => seconds > 0 && seconds % size === 0) ?? ['s', 1]
  return `${seconds / size}${unit}`
}
