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

describe('the drawing of the states', () => {
  it('in docs/architecture.md is the one that the code’s table makes', () => {
    if (process.env.STATE_DRAWING === 'write')
      writeFileSync(path.join(ROOT, ARCHITECTURE), withDrawing(read(ARCHITECTURE)))
    expect(drawingIn(read(ARCHITECTURE))).toBe(drawStates())
  })

  it('in README has the same moves, in words of its own', () => {
    expect(arrowsIn(read('README.md')).toSorted()).toEqual(FLOW_ARROWS.toSorted())
  })

  it.each([
    ['a move that is missing', (page: string) => page.replace(/^.*unknown --> completed.*\n/m, '')],
    ['a move that there is not', (page: string) => page.replace('unknown --> completed', 'unknown --> expired')],
    ['a move under another name', (page: string) => page.replace(': reconciled', ': settled')],
  ])('would not be that with %s', (_, change) => {
    const changed = change(withDrawing(read(ARCHITECTURE)))
    expect(drawingIn(changed)).not.toBe(drawStates())
    expect(drawingIn(withDrawing(changed))).toBe(drawStates())
  })
})

describe('a room of lib', () => {
  it.each(foldersOf('lib'))('%s is explained in docs/architecture.md', (room) => {
    expect(read(ARCHITECTURE)).toContain(`| \`lib/${room}\` |`)
  })
})

describe.each(PAGES)('%s', (page) => {
  it('names nothing of the tree that is not there', () => {
    expect(pathsIn(page).filter((named) => !exists(named))).toEqual([])
  })

  it('names no script of npm that there is not', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = [...read(page).matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)].map(([, script]) => script!)
    expect(named.filter((script) => !(script in scripts))).toEqual([])
  })
})

it('what is not there is noticed', () => {
  expect(['lib/idempotency/none.ts', 'test/scenarios/none*.test.ts', 'nowhere/a*'].filter(exists)).toEqual([])
  expect(pathsIn(ARCHITECTURE)).toContain('lib/idempotency/run.ts')
})
