// What the search box offers for the word under the caret. Pure: what only the store knows is handed in.

import { QUALIFIERS, type Qualifier, type Token, tokensOf, valueText } from '../../../../lib/console/search-text'
import type { Suggested } from '../../../../lib/console/suggest-values'
import { STATES } from '../../../../lib/idempotency/states'
import { LOOKS } from '../../../_ui/state'
import { count, endpointWord } from '../../../_ui/words'

export interface Completion {
  /** What takes the place of the word. */
  text: string
  about: string
  /** A qualifier alone: its value is still to come. */
  open: boolean
}

const ABOUT: Record<Qualifier, string> = {
  state: 'where it stands',
  tenant: 'whose key it is',
  endpoint: 'what was called',
  error: 'how it failed last',
  age: 'how long ago it came in',
  order: 'what it was for',
  ref: 'what the provider calls it',
  dead: 'waits for a person',
  from: 'created then or later',
  to: 'created before then',
}

/** Those whose values the store knows. */
export type Stored = 'tenant' | 'endpoint' | 'error'
const STORED: readonly Qualifier[] = ['tenant', 'endpoint', 'error'] satisfies Stored[]
const isStored = (name: Qualifier): name is Stored => STORED.includes(name)

const AGES = ['>10m', '>1h', '>1d', '<10m', '<1h', '<1d']
/** How a qualifier is spelled where it has a value that says it all. */
const WHOLE: Partial<Record<Qualifier, string>> = { dead: 'dead:true' }

/** The word that the caret is in or right behind. */
export function wordAt(text: string, caret: number): Token | null {
  return tokensOf(text).find(({ start, end }) => start < caret && caret <= end) ?? null
}

/** The rest of the search, without that word. */
export const withoutWord = (text: string, { start, end }: Token): string => `${text.slice(0, start)}${text.slice(end)}`

/** Which of the store's values would be of use for this word. */
export function wanted(word: Token | null): { qualifier: Stored; typed: string } | null {
  if (!word) return null
  if (word.name) return isStored(word.name) ? { qualifier: word.name, typed: word.value } : null
  const [only, ...others] = beginning(word.value)
  return only && others.length === 0 && isStored(only) ? { qualifier: only, typed: '' } : null
}

const beginning = (typed: string): Qualifier[] =>
  QUALIFIERS.filter((name) => name.startsWith(typed.toLowerCase()) && typed !== '')

export function completionsOf(word: Token | null, stored: readonly Suggested[]): Completion[] {
  if (!word) return []
  if (word.name) return valuesOf(word.name, word.value, stored)
  const names = beginning(word.value)
  const offered = names.map((name) => ({ text: WHOLE[name] ?? `${name}:`, about: ABOUT[name], open: !WHOLE[name] }))
  const [only, ...others] = names
  return only && others.length === 0 && !WHOLE[only] ? [...offered, ...valuesOf(only, '', stored)] : offered
}

function valuesOf(name: Qualifier, typed: string, stored: readonly Suggested[]): Completion[] {
  const value = (text: string, about: string): Completion => ({
    text: `${name}:${valueText(text)}`,
    about,
    open: false,
  })
  const some = (texts: readonly string[], about: (text: string) => string) =>
    texts
      .filter((text) => text.startsWith(typed.toLowerCase()) && text !== typed)
      .map((text) => value(text, about(text)))
  switch (name) {
    case 'state':
      return STATES.filter((state) => state.startsWith(typed.toLowerCase()) && state !== typed).map((state) =>
        value(state, LOOKS[state].word),
      )
    case 'age':
      return some(AGES, (age) => (age.startsWith('>') ? 'older than that' : 'younger than that'))
    case 'dead':
      return some(['true', 'false'], (word) => (word === 'true' ? 'waits for a person' : 'does not'))
    case 'tenant':
    case 'error':
    case 'endpoint':
      return stored
        .map(({ value: text, count: n }) => ({ text: name === 'endpoint' ? endpointWord(text) : text, n }))
        .filter(({ text }) => text !== typed)
        .map(({ text, n }) => value(text, `${n < 100 ? count(n) : 'a hundred or more'} with this filter`))
    default:
      return []
  }
}

/** Those that are not offered already, for the foot of the list. */
export const otherQualifiers = (offered: readonly Completion[]): Qualifier[] =>
  QUALIFIERS.filter(
    (name) => !offered.some(({ text }) => text.startsWith(`${name}:`)) && name !== 'from' && name !== 'to',
  )
