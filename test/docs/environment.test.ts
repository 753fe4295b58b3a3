// The README's table of the environment has every variable that is read, and none that is not.
import { expect, it } from 'vitest'
import { readDoc } from '../support/documented'

const namesIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name!).sort()

it('the README’s table of the environment lists exactly the variables that lib/config.ts reads', () => {
  const declared = readDoc('lib/config.ts').split('const Environment = z')[1]!.split('.superRefine')[0]!
  const [, table] = /^\| variable .*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(readDoc('README.md')) ?? []
  const firstCells = table!.replace(/^\|([^|]*)\|.*$/gm, '$1')
  const listed = namesIn(firstCells, /`([A-Z_]+)`/g)
  expect(listed.length).toBeGreaterThan(20)
  expect(listed).toEqual(namesIn(declared, /^ {4}([A-Z_]+):/gm))
})
