import { expect, it } from 'vitest'
import { selected } from '../../scripts/test-run'
import { partsOf } from '../parts'

const namesOf = ({ parts }: ReturnType<typeof selected>) => parts.map(({ name }) => name)

it('npm run proof runs all of its parts when it gets no name', () => {
  expect(namesOf(selected('proof', []))).toEqual(partsOf('proof').map(({ name }) => name))
})

it('npm run proof runs the named parts and passes everything from the first flag on to Vitest', () => {
  const run = selected('proof', ['fuzz', 'crash', '-t', 'upgrade'])
  expect(namesOf(run)).toEqual(['crash', 'fuzz'])
  expect(run.forVitest).toEqual(['-t', 'upgrade'])
})

it.each(['fault', 'contract', 'test/scenarios/upgrade.test.ts'])(
  'npm run proof refuses %s, which is none of its parts',
  (name) => {
    expect(() => selected('proof', ['crash', name])).toThrow(`${name} is no part of the tests here: crash, random`)
  },
)
