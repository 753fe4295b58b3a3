import { describe, expect, it } from 'vitest'
import { FLOW_NAMES, FLOWS, flowOf } from '../../lib/idempotency/flows'
import { MOVES, STATES } from '../../lib/idempotency/states'

const arrow = (from: string | null, to: string | null) => `${from} → ${to}`

describe('the flows of the state map', () => {
  it('are all moves between states, two entries and one exit, each once', () => {
    const moves = STATES.flatMap((from) => MOVES[from].map((to) => arrow(from, to)))
    const ends = [arrow(null, 'pending'), arrow(null, 'in_progress'), arrow('expired', null)]
    const drawn = FLOW_NAMES.map((flow) => arrow(FLOWS[flow].from, FLOWS[flow].to))
    expect(drawn.toSorted()).toEqual([...moves, ...ends].toSorted())
  })

  it('are found by their source and target states', () => {
    for (const flow of FLOW_NAMES) expect(flowOf(FLOWS[flow].from, FLOWS[flow].to)).toBe(flow)
    expect(flowOf('unknown', 'expired')).toBeUndefined()
  })
})
