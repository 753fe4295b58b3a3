import { expect, it } from 'vitest'
import { warm } from '../../lib/db/warm'

/** A pool that can make so many connections, and whose first tries fail. */
function pool({ max = 3, possible = 3, failures = 0 } = {}) {
  let left = failures
  const state = { open: 0, released: 0, tries: 0 }
  const connect = async () => {
    state.tries++
    if (left-- > 0 || state.open === possible) throw new Error('timeout exceeded when trying to connect')
    state.open++
    return { release: () => state.released++ }
  }
  return { state, pool: { options: { max }, connect } as unknown as Parameters<typeof warm>[0] }
}

it('warming a pool opens all of its connections and gives them back', async () => {
  const { state, pool: three } = pool()
  await warm(three)
  expect(state).toEqual({ open: 3, released: 3, tries: 3 })
})

it('warming a pool tries connections again that could not be made', async () => {
  const { state, pool: slow } = pool({ failures: 4 })
  await warm(slow)
  expect(state).toEqual({ open: 3, released: 3, tries: 7 })
})

it('warming a pool is content with fewer connections where the server has no more to give', async () => {
  const { state, pool: scarce } = pool({ possible: 2 })
  await warm(scarce, 0)
  expect(state).toMatchObject({ open: 2, released: 2 })
})

it('warming a pool fails where the server gives no connection at all', async () => {
  await expect(warm(pool({ possible: 0 }).pool, 0)).rejects.toThrow('timeout exceeded when trying to connect')
})
