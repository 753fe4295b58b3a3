import { describe, expect, it } from 'vitest'
import { planOf, selected } from '../../scripts/test-run'
import { type Part, partsOf } from '../parts'

const namesOf = ({ parts }: ReturnType<typeof selected>) => parts.map(({ name }) => name)

it('npm run proof without a name runs all of its parts but failover, and says so', () => {
  const run = selected('proof', [], () => false)
  const all = partsOf('proof').map(({ name }) => name)
  expect(namesOf(run)).toEqual(all.filter((name) => name !== 'failover'))
  expect(planOf('proof', run.parts)).toMatch(/^NOT RUN, only by its name, npm run proof -- failover:\n {2}failover /m)
})

describe('npm run proof on a machine without PostgreSQL 15', () => {
  const without15 = ({ name }: Part) => name === 'postgres-15'

  it('does not run the part postgres-15, and says which package it needs', () => {
    const run = selected('proof', [], without15)
    expect(namesOf(run)).not.toContain('postgres-15')
    expect(planOf('proof', run.parts, without15)).toMatch(
      /^NOT RUN, because Debian's postgresql-15 is not installed:\n {2}postgres-15 /m,
    )
  })

  it('refuses the part postgres-15 by its name', () => {
    expect(() => selected('proof', ['postgres-15'], without15)).toThrow(
      'postgres-15 needs /usr/lib/postgresql/15/bin (Debian: apt-get install postgresql-15)',
    )
  })
})

it('npm run proof runs a part that runs only by its name when it gets that name', () => {
  const run = selected('proof', ['failover'])
  expect(namesOf(run)).toEqual(['failover'])
  expect(planOf('proof', run.parts, () => false)).not.toMatch('NOT RUN')
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
