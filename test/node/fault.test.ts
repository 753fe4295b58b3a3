// The door for tests is not there in a build for use, nor in a process that nobody started to hold it.
import { afterEach, expect, it, vi } from 'vitest'
import { faultHook } from '../../lib/node/fault'

const channel = process.channel
afterEach(() => {
  vi.unstubAllEnvs()
  process.removeAllListeners('message')
  for (const listener of listeners) process.on('message', listener)
  Object.assign(process, { channel })
})
const listeners = process.listeners('message')

it.each([
  ['a build for use', 'false', { unref() {} }],
  ['a build that says nothing', '', { unref() {} }],
  ['a process without a parent to obey', 'true', undefined],
])('%s has no such door', (_, build, parent) => {
  vi.stubEnv('ONCEOVER_TEST_BUILD', build)
  Object.assign(process, { channel: parent })
  expect(faultHook()).toBeUndefined()
})

it('a test’s own build has it', () => {
  vi.stubEnv('ONCEOVER_TEST_BUILD', 'true')
  Object.assign(process, { channel: { unref() {} } })
  expect(faultHook()).toBeTypeOf('function')
})
