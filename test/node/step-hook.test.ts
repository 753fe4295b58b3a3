import { afterEach, expect, it } from 'vitest'
import { handedStepHook, handOverStepHook } from '../../lib/node/step-hook'

afterEach(() => handOverStepHook(undefined, 'test'))

it('NODE_ENV=production refuses a step hook', () => {
  expect(() => handOverStepHook(() => {}, 'production')).toThrow('NODE_ENV=production refuses them')
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
