import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTurns } from '../../scripts/turns'

const AT_ONCE = 2
const WAITING = 32

let ordersUnderWay: boolean
let turns: ReturnType<typeof openTurns>
let begun: string[]
let refused: string[]
beforeEach(() => {
  vi.useFakeTimers()
  ordersUnderWay = false
  turns = openTurns(() => ordersUnderWay)
  begun = []
  refused = []
})
afterEach(() => vi.useRealTimers())

/** Whose answer ends, or whose client goes, when it is closed. */
function ask(name: string) {
  const response = new EventEmitter() as ServerResponse
  turns.take(
    response,
    () => begun.push(name),
    () => refused.push(name),
  )
  return () => void response.emit('close')
}

const askMany = (count: number) => Array.from({ length: count }, (_, i) => ask(String(i)))

describe('requests that take turns', () => {
  it('begin two at a time, in the order in which they came, and are refused beyond a queue of 32', () => {
    const ends = askMany(AT_ONCE + WAITING + 1)
    expect(begun).toEqual(['0', '1'])
    expect(refused).toEqual([String(AT_ONCE + WAITING)])
    ends[1]!()
    ends[0]!()
    expect(begun).toEqual(['0', '1', '2', '3'])
  })

  it('never begin when their client has gone meanwhile', () => {
    const ends = askMany(4)
    ends[2]!()
    ends[0]!()
    expect(begun).toEqual(['0', '1', '3'])
  })

  it('are followed by a rest of twice their time, at most 500 ms, while orders are under way', () => {
    ordersUnderWay = true
    const ends = askMany(4)
    vi.advanceTimersByTime(50)
    ends[0]!()
    vi.advanceTimersByTime(99)
    expect(begun).toHaveLength(2)
    vi.advanceTimersByTime(1)
    expect(begun).toHaveLength(3)
    vi.advanceTimersByTime(2000)
    ends[1]!()
    vi.advanceTimersByTime(500)
    expect(begun).toHaveLength(4)
  })

  it('give their turn to the next after five seconds, however long their client takes', () => {
    askMany(3)
    vi.advanceTimersByTime(5000)
    expect(begun).toEqual(['0', '1', '2'])
  })
})
