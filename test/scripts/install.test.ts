// A start installs exactly when node_modules is not what package-lock.json says.
import { describe, expect, it } from 'vitest'
import { installNeeded } from '../../scripts/install.mjs'

const wanted = {
  packages: {
    '': { version: '0.1.0' },
    'node_modules/next': { version: '16.4.3' },
    'node_modules/a/node_modules/b': { version: '2.0.0' },
    'node_modules/@other/platform': { version: '1.0.0', optional: true },
    'node_modules/maybe': { version: '1.0.0', devOptional: true },
    'node_modules/own': { link: true },
  },
}
const installed = () => ({
  packages: {
    'node_modules/next': { version: '16.4.3' },
    'node_modules/a/node_modules/b': { version: '2.0.0' },
  } as Record<string, { version: string }>,
})

describe('an install is needed', () => {
  it('when npm never finished one', () => {
    expect(installNeeded(wanted, undefined)).toBe(true)
    expect(installNeeded(wanted, {} as never)).toBe(true)
  })

  it('when a package is missing, even a nested one', () => {
    const partial = installed()
    delete partial.packages['node_modules/a/node_modules/b']
    expect(installNeeded(wanted, partial)).toBe(true)
  })

  it('when the lock file asks for another version', () => {
    const old = installed()
    old.packages['node_modules/next'] = { version: '16.4.2' }
    expect(installNeeded(wanted, old)).toBe(true)
  })

  it('when an optional package is installed in another version', () => {
    const old = installed()
    old.packages['node_modules/@other/platform'] = { version: '0.9.0' }
    expect(installNeeded(wanted, old)).toBe(true)
  })
})

describe('no install is needed', () => {
  it('when only packages that npm may leave out are missing', () => {
    expect(installNeeded(wanted, installed())).toBe(false)
  })

  it('when there are more packages than the lock file asks for', () => {
    const more = installed()
    more.packages['node_modules/extra'] = { version: '1.0.0' }
    expect(installNeeded(wanted, more)).toBe(false)
  })
})
