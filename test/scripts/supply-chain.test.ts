// What is installed is what was looked at: exact versions, with the hash of each, and no script of a package runs at
// its installation that nobody has decided about.
import { describe, expect, it } from 'vitest'
import { read } from '../docs/pages'

interface Manifest {
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  overrides: Record<string, string>
  allowScripts: Record<string, boolean>
}
interface Lock {
  packages: Record<string, { version?: string; integrity?: string; resolved?: string; hasInstallScript?: true }>
}

const manifest = JSON.parse(read('package.json')) as Manifest
const lock = JSON.parse(read('package-lock.json')) as Lock
const locked = Object.entries(lock.packages).filter(([place]) => place !== '')
const nameOf = (place: string): string => place.split('node_modules/').at(-1)!

describe('a dependency', () => {
  const asked = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.overrides }

  it.each(Object.entries(asked))('%s is pinned to one exact version: %s', (_, version) => {
    expect(version).toMatch(/^\d+\.\d+\.\d+[\w.-]*$/)
  })

  it('is locked with its hash, and comes from the registry', () => {
    expect(locked.length).toBeGreaterThan(0)
    const unhashed = locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
    expect(unhashed.map(([place]) => place)).toEqual([])
    const elsewhere = locked.filter(([, { resolved = '' }]) => /^(?:git|file|http:)/.test(resolved))
    expect(elsewhere.map(([place]) => place)).toEqual([])
  })

  it('with an install script is allowed or refused by name in allowScripts', () => {
    const withScript = new Set(locked.filter(([, one]) => one.hasInstallScript).map(([place]) => nameOf(place)))
    expect(withScript.size).toBeGreaterThan(0)
    expect([...withScript].filter((name) => !(name in manifest.allowScripts))).toEqual([])
  })
})
