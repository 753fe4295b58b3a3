import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { handedStepHook, handOverStepHook } from '../../lib/node/step-hook'

afterEach(() => handOverStepHook(undefined, 'test'))

it.each(['production', 'development', undefined])('NODE_ENV=%s refuses a step hook', (nodeEnv) => {
  expect(() => handOverStepHook(() => {}, nodeEnv)).toThrow('only with NODE_ENV=test')
  expect(handedStepHook()).toBeUndefined()
})

it('a node takes the step hook that its start hands over in a test', () => {
  const hook = () => {}
  handOverStepHook(hook, 'test')
  expect(handedStepHook()).toBe(hook)
})

it('a node has no step hook when its start hands over none', () => {
  expect(handedStepHook()).toBeUndefined()
})

it('a node that is started in production with a step hook prints one line and ends', () => {
  const program = path.resolve(import.meta.dirname, '..', 'support', 'held-node.mjs')
  const env = { ...process.env, NODE_ENV: 'production' as const }
  const { status, stderr } = spawnSync(process.execPath, [program], { env, encoding: 'utf8', timeout: 30_000 })
  expect(status).toBe(1)
  expect(stderr.trim().split('\n')).toEqual([expect.stringContaining('only with NODE_ENV=test')])
})
