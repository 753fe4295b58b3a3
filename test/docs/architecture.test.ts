// What the pages say of the tree is so: the drawings are the code's own moves, and what is named is there.
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { foldersOf, PAGES, pathsIn, ROOT, read } from './pages'
import { arrowsIn, drawingIn, drawStates, FLOW_ARROWS, withDrawing } from './state-drawing'

const ARCHITECTURE = 'docs/architecture.md'

/** A star stands for any part of a name; a folder may be named with a slash. */
function exists(named: string): boolean {
  if (!named.includes('*')) return existsSync(path.join(ROOT, named))
  const folder = path.dirname(named)
  const pattern = new RegExp(`^${path.basename(named).replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
  return existsSync(path.join(ROOT, folder)) && readdirSync(path.join(ROOT, folder)).some((name) => pattern.test(name))
}

describe('the state diagram', () => {
  it('in docs/architecture.md matches the transitions in the code', () => {
    if (process.env.STATE_DRAWING === 'write')
      writeFileSync(path.join(ROOT, ARCHITECTURE), withDrawing(read(ARCHITECTURE)))
    expect(drawingIn(read(ARCHITECTURE))).toBe(drawStates())
  })

  it('in README.md has the same transitions as the code', () => {
    expect(arrowsIn(read('README.md')).toSorted()).toEqual(FLOW_ARROWS.toSorted())
  })

  it.each([
    ['a missing transition', (page: string) => page.replace(/^.*unknown --> completed.*\n/m, '')],
    ['a wrong transition', (page: string) => page.replace('unknown --> completed', 'unknown --> expired')],
    ['a renamed transition', (page: string) => page.replace(': reconciled', ': settled')],
  ])('is recognised as outdated with %s', (_, change) => {
    const changed = change(withDrawing(read(ARCHITECTURE)))
    expect(drawingIn(changed)).not.toBe(drawStates())
    expect(drawingIn(withDrawing(changed))).toBe(drawStates())
  })
})

describe('a folder of lib', () => {
  it.each(foldersOf('lib'))('%s is explained in docs/architecture.md', (room) => {
    expect(read(ARCHITECTURE)).toContain(`| \`lib/${room}\` |`)
  })
})

describe.each(PAGES)('%s', (page) => {
  it('names only paths that exist', () => {
    expect(pathsIn(page).filter((named) => !exists(named))).toEqual([])
  })

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = [...read(page).matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)].map(([, script]) => script!)
    expect(named.filter((script) => !(script in scripts))).toEqual([])
  })
})

it('the check of the pages notices a path that does not exist', () => {
  expect(['lib/idempotency/none.ts', 'test/scenarios/none*.test.ts', 'nowhere/a*'].filter(exists)).toEqual([])
  expect(pathsIn(ARCHITECTURE)).toContain('lib/idempotency/run.ts')
})
