// Every command that the documentation shows is run by a test: a block that nobody runs fails here, and so does a name
// of a command that does not exist.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Block, blocksOf, commandsUnder, docs, readDoc } from '../support/documented'

const root = path.resolve(import.meta.dirname, '..', '..')

/** Blocks that no test pastes as they are, by their text: what runs them instead. */
const ELSEWHERE: Record<string, string> = {
  'npm start\n': 'test/scenarios/clean-clone.test.ts',
  'npm test\n': '.ci/run',
}

/** Pages whose commands need what `npm test` does not ask for, with what that is. */
const UNTESTED: Record<string, string> = {
  'docs/model/README.md': 'spin and gcc',
}

/** The headings whose commands some test takes, as `doc # heading`. */
function taken(): Set<string> {
  const tests = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const found = tests
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((name) => [...readDoc(path.join('test', name)).matchAll(/commandsUnder\('([^']+)', '([^']+)'\)/g)])
  return new Set(found.map(([, doc, heading]) => `${doc} # ${heading}`))
}

const notRun = (blocks: readonly Block[], ran: ReadonlySet<string>): string[] =>
  blocks
    .filter(({ language, text }) => language === 'sh' && !(text in ELSEWHERE))
    .map(({ doc, heading }) => `${doc} # ${heading}`)
    .filter((place) => !ran.has(place))

const pages = docs().filter((doc) => !(doc in UNTESTED))

describe('the documentation', () => {
  it('has only commands that a test runs', () => {
    expect(
      notRun(
        pages.flatMap((doc) => blocksOf(doc)),
        taken(),
      ),
    ).toEqual([])
  })

  it('has commands that this check finds', () => {
    const found = pages.flatMap((doc) => blocksOf(doc)).filter(({ language }) => language === 'sh')
    expect(found.length).toBeGreaterThan(20)
    expect(commandsUnder('README.md', 'Send an order').length).toBe(2)
  })

  it('still has the commands that are run outside the tests, and their runners exist', () => {
    const texts = docs().flatMap((doc) => blocksOf(doc).map(({ text }) => text))
    for (const [text, runner] of Object.entries(ELSEWHERE)) {
      expect(texts).toContain(text)
      expect(existsSync(path.join(root, runner))).toBe(true)
    }
    expect(readDoc('.ci/run')).toMatch(/^timed npm test$/m)
    expect(docs()).toEqual(expect.arrayContaining(Object.keys(UNTESTED)))
  })

  it.each(docs())('names only scripts that package.json has: %s', (doc) => {
    const { scripts } = JSON.parse(readDoc('package.json')) as { scripts: Record<string, string> }
    const named = [...readDoc(doc).matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name]) => name!)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })

  it.each(docs())('links only to pages and headings that exist: %s', (doc) => {
    const links = [...readDoc(doc).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)/g)]
    const broken = links.filter(([, to, anchor]) => {
      const target = to ? path.join(path.dirname(doc), to) : doc
      if (!existsSync(path.join(root, target))) return true
      return anchor !== undefined && !anchorsOf(target).includes(anchor)
    })
    expect(broken.map(([link]) => link)).toEqual([])
  })
})

describe('the check of documented commands', () => {
  const page = '# A\n\n## Here\n\n```sh\ntrue\n```\n\n```ts\nconst a = 1\n```\n\n## There\n\n```sh\nfalse\n```\n'

  it('reports a block that no test runs', () => {
    expect(notRun(blocksOf('a.md', page), new Set(['a.md # Here']))).toEqual(['a.md # There'])
  })

  it('ignores blocks of other languages and blocks that are run elsewhere', () => {
    const others = `${page.split('## There')[0]}\n\`\`\`sh\nnpm start\n\`\`\`\n`
    expect(notRun(blocksOf('a.md', others), new Set(['a.md # Here']))).toEqual([])
  })

  it('refuses a heading without commands', () => {
    expect(() => commandsUnder('README.md', 'No such heading')).toThrow('no commands')
  })
})

/** As GitHub makes them of headings. */
function anchorsOf(doc: string): string[] {
  return [...readDoc(doc).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  )
}
