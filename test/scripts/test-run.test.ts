import { expect, it } from 'vitest'
import { planOf, selected } from '../../scripts/test-run'
import { partsOf } from '../parts'

const namesOf = ({ parts }: ReturnType<typeof selected>) => parts.map(({ name }) => name)

it('npm run proof without a name runs all of its parts but failover, and says so', () => {
  const run = selected('proof', [])
  const all = partsOf('proof').map(({ name }) => name)
  expect(namesOf(run)).toEqual(all.filter((name) => name !== 'failover'))
  expect(planOf('proof', run.parts)).toMatch(/^NOT RUN, only by its name, npm run proof -- failover:\n {2}failover /m)
})

it('npm run proof runs a part that runs only by its name when it gets that name', () => {
  const run = selected('proof', ['failover'])
  expect(namesOf(run)).toEqual(['failover'])
  expect(planOf('proof', run.parts)).not.toMatch('NOT RUN')
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
