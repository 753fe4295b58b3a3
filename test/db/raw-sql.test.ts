// What comes from outside is a parameter of a statement and never a part of its text. Only `raw` puts text into one, so
// each use of it is looked at: a literal, a constant, or one of a few literals.
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, read } from '../docs/pages'

const FILES = readdirSync(path.join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith(path.join('db', 'generated')))
  .map((file) => `lib/${file}`)

/** Argument by argument, each with the reason why it is none of a caller's. */
const ARGUED: Record<string, string> = {
  ofType: 'one of a few types, by its type',
  alias: 'a literal of the statement’s own file',
  columnNames: 'literals of the statement’s own file',
  'String(at.most)': 'a number that the list’s schema has bounded',
  'ranks(ranking, walk)': 'one of four words of ours',
  'ranks(ranking, at)': 'one of four words of ours',
  "`'${state}'`": 'one of the states, by its type',
}

const SAFE: readonly RegExp[] = [
  /^'[^'$]*'$/,
  /^`[^`$]*`$/,
  // constants of a module, also spelled out in a longer text
  /^String\([A-Z_]+(?: \+ 1)?\)$/,
  /^`(?:[^`$]|\$\{[A-Z_]+(?:\.sql)?\})*`$/,
  /^[\w.]+(?: === '\w+')? \? '[^']*' : '[^']*'$/,
]

/** What stands between the parentheses of each `raw(…)`. */
function rawArguments(text: string): string[] {
  return [...text.matchAll(/\braw\(/g)].map(({ index }) => {
    const start = index + 'raw('.length
    let depth = 1
    let end = start
    for (; depth > 0 && end < text.length; end++) depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0
    return text.slice(start, end - 1).trim()
  })
}

const isSafe = (argument: string): boolean => argument in ARGUED || SAFE.some((pattern) => pattern.test(argument))

describe('raw SQL', () => {
  it('is made only of literals, constants and listed exceptions, never of request data', () => {
    const unsafe = FILES.flatMap((file) =>
      rawArguments(read(file))
        .filter((argument) => !isSafe(argument))
        .map((argument) => `${file}: raw(${argument})`),
    )
    expect(unsafe).toEqual([])
  })

  it('has no listed exception that is unused', () => {
    const used = new Set(FILES.flatMap((file) => rawArguments(read(file))))
    expect(Object.keys(ARGUED).filter((argument) => !used.has(argument))).toEqual([])
  })

  // biome-ignore lint/suspicious/noTemplateCurlyInString: as it would stand in the code
  it.each(['name', '`r.${column}`', "`r.key = '${q}'`", "'a' + b", 'String(input.limit)', 'find(`a`)'])(
    'is refused by the check: raw(%s)',
    (argument) => expect(isSafe(argument)).toBe(false),
  )
})
