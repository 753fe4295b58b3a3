// Keeps: a Prefer header never makes a request fail. What is unknown, malformed or out of place is ignored, as RFC 7240
// wants it, and only what was honoured is named in Preference-Applied.

export type Preferences = {
  waitSeconds: number | null
  respondAsync: boolean
  /** A 503 in place of the 409 of a request that is not over, for clients that never repeat after a 409. */
  busy503: boolean
}

// The contract's ceiling. A larger wish is granted up to here, which Preference-Applied then says.
const MAX_WAIT_SECONDS = 30

export const NO_PREFERENCE: Preferences = { waitSeconds: null, respondAsync: false, busy503: false }

export function parsePrefer(header: string | null): Preferences {
  if (header === null) return NO_PREFERENCE
  const preferences = firstOccurrences(header)
  return {
    waitSeconds: waitSeconds(preferences.get('wait')),
    // A value takes `respond-async` out of the RFC's grammar ("respond-async=false" surely does not ask for it), while
    // an empty value is by section 2 the same as none.
    respondAsync: preferences.get('respond-async') === '',
    busy503: preferences.get('busy') === '503',
  }
}

export function preferenceApplied(honoured: Preferences): string | null {
  const applied: string[] = []
  if (honoured.respondAsync) applied.push('respond-async')
  if (honoured.waitSeconds !== null) applied.push(`wait=${honoured.waitSeconds}`)
  if (honoured.busy503) applied.push('busy=503')
  return applied.length > 0 ? applied.join(', ') : null
}

// Name to value, '' for no value. The first occurrence counts even if its value is no good: section 2 has recipients
// consider no other.
function firstOccurrences(header: string): Map<string, string> {
  const preferences = new Map<string, string>()
  for (const element of splitOutsideQuotes(header, ',')) {
    const [preference = ''] = splitOutsideQuotes(element, ';')
    const equals = preference.indexOf('=')
    const name = (equals < 0 ? preference : preference.slice(0, equals)).trim().toLowerCase()
    const value = equals < 0 ? '' : preference.slice(equals + 1).trim()
    if (!preferences.has(name)) preferences.set(name, unquote(value))
  }
  return preferences
}

function waitSeconds(value: string | undefined): number | null {
  if (value === undefined || !/^\d+$/.test(value)) return null
  return Math.min(Number(value), MAX_WAIT_SECONDS)
}

// What is not a whole quoted-string stays as it is, with its quote, and so matches nothing.
function unquote(value: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1]
  return quoted === undefined ? value : quoted.replace(/\\(.)/g, '$1')
}

// By hand and not by a regular expression: the header is the client's, and this is linear in it. A quote that never
// closes swallows the rest, so nothing inside a broken string is taken for a preference.
function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (quoted && char === '\\') i++
    else if (char === '"') quoted = !quoted
    else if (char === separator && !quoted) {
      parts.push(text.slice(start, i))
      start = i + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}
