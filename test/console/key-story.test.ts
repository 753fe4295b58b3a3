import { describe, expect, it } from 'vitest'
import { gapOf, type Moment, storyOf } from '../../lib/console/key-story'
import { placeLabels } from '../../lib/console/key-story-labels'
import { type Lanes, lanesOf } from '../../lib/console/key-story-lanes'
import { scaleOf, ticksOf } from '../../lib/console/key-story-scale'
import { act, aKey, at, event, evidence, lookedUp, RESERVED, TIMED_OUT } from './a-key'

const told = (moments: readonly Moment[]) => moments.map(({ what }) => what)
const states = (moments: readonly Moment[]) => moments.map(({ state }) => state)

describe('a key’s story', () => {
  it('has every event of the timeline, misuse, audit log and replays in the order of time', () => {
    const detail = aKey('completed', {
      timeline: [RESERVED, TIMED_OUT, event(200, 'settled', { by: 'reconciler', verdict: 'succeeded', status: 201 })],
      misuse: [{ ...MISUSE, at: at(100) }],
      record: { replayCount: 41, lastReplayedAt: at(300) },
    })
    const story = storyOf(detail, [act(150, {})])
    expect(told(story)).toEqual(['reserved', 'outcome_unknown', 'misuse', 'act', 'settled', 'replays'])
    expect(story.at(-1)).toMatchObject({ count: 41 })
  })

  it('joins consecutive lookups with the same verdict into one entry, with their numbers and times', () => {
    const timeline = [RESERVED, TIMED_OUT, ...[40, 100, 220].map((s) => lookedUp(s, 'unreachable'))]
    const [, , group, ...rest] = storyOf(aKey('unknown', { timeline: [...timeline, lookedUp(400, 'pending')] }))
    expect(group).toMatchObject({
      what: 'looked_up',
      verdict: 'unreachable',
      numbers: [1, 2, 3],
      times: [at(40), at(100), at(220)],
      at: at(40),
      until: at(220),
    })
    expect(rest).toMatchObject([{ verdict: 'pending', numbers: [4] }])
  })

  it('does not number an unfinished lookup, which the next one continues', () => {
    const timeline = [RESERVED, TIMED_OUT, ...[40, 50].map((s) => lookedUp(s, 'unfinished')), lookedUp(60, 'pending')]
    expect(storyOf(aKey('unknown', { timeline })).slice(2)).toMatchObject([
      { verdict: 'unfinished', numbers: [], times: [at(40), at(50)] },
      { verdict: 'pending', numbers: [1] },
    ])
  })

  it('does not number a lookup that came too early, and restarts the numbers with each attempt', () => {
    const timeline = [
      RESERVED,
      TIMED_OUT,
      lookedUp(20, 'too_early'),
      lookedUp(40, 'unreachable'),
      event(200, 'released', { by: 'reconciler', verdict: 'not_found', code: 'not_executed' }),
      event(300, 'claimed', { attempt: 2, recoveryPoint: 'charging' }),
      event(310, 'outcome_unknown', { code: 'timeout' }),
      lookedUp(340, 'unreachable'),
    ]
    const lookUps = storyOf(aKey('unknown', { timeline })).filter((moment) => moment.what === 'looked_up')
    expect(lookUps.map(({ numbers }) => numbers)).toEqual([[], [1], [1]])
  })

  it('keeps two equal lookups apart when another event happened between them', () => {
    const timeline = [RESERVED, TIMED_OUT, lookedUp(40, 'unreachable'), lookedUp(100, 'unreachable')]
    const story = storyOf(aKey('unknown', { timeline, misuse: [{ ...MISUSE, at: at(60) }] }))
    expect(told(story)).toEqual(['reserved', 'outcome_unknown', 'looked_up', 'misuse', 'looked_up'])
  })

  it('joins consecutive misuse with the same changed paths into one entry', () => {
    const misuse = [50, 51, 52].map((s) => ({ ...MISUSE, at: at(s) }))
    const other = { ...MISUSE, at: at(53), changedPaths: ['$.currency'] }
    const story = storyOf(aKey('completed', { misuse: [...misuse, other] }))
    expect(story.filter(({ what }) => what === 'misuse')).toMatchObject([
      { times: misuse.map((one) => one.at) },
      { changedPaths: ['$.currency'] },
    ])
  })

  it('names the operator who moved the key in one entry, with the reason from the audit log', () => {
    const resolved = event(500, 'settled', {
      by: 'operator:opr_mara',
      source: 'operator',
      verdict: 'succeeded',
      requestId: 'req_resolve',
      status: 201,
    })
    const detail = aKey('completed', {
      timeline: [RESERVED, TIMED_OUT, resolved],
      evidence: [evidence(500, { source: 'operator', ref: 'ch_word' })],
    })
    const resolve = act(500, { action: 'key.resolve', requestId: 'req_resolve', reason: 'seen in the dashboard' })
    const story = storyOf(detail, [resolve, act(600, {})])
    expect(told(story)).toEqual(['reserved', 'outcome_unknown', 'settled', 'act'])
    expect(story[2]).toMatchObject({ person: 'Mara Lindqvist', reason: 'seen in the dashboard', ref: 'ch_word' })
  })

  it('names the operator who requested the bulk run that moved the key', () => {
    const timeline = [RESERVED, TIMED_OUT, event(90, 'settled', { by: 'run_1', verdict: 'succeeded', status: 201 })]
    const story = storyOf(aKey('completed', { timeline }), [act(90, { action: 'key.reconcile', requestId: 'run_1' })])
    expect(story).toHaveLength(3)
    expect(story[2]).toMatchObject({ person: 'Mara Lindqvist', source: 'look_up' })
  })

  it('shows an operator’s action that was forbidden', () => {
    const tried = act(70, { action: 'key.expire', outcome: 'forbidden', reason: null })
    expect(storyOf(aKey('unknown'), [tried]).at(-1)).toMatchObject({ what: 'act', forbidden: true })
  })

  it('shows the id of an operator whose name is not in the audit log', () => {
    const timeline = [RESERVED, TIMED_OUT, lookedUp(40, 'unreachable', 'operator:opr_gone')]
    expect(storyOf(aKey('unknown', { timeline })).at(-1)).toMatchObject({ person: 'opr_gone' })
  })

  describe('the state after each event', () => {
    it('follows the moves of the key and ends in the state of the record', () => {
      const timeline = [
        event(0, 'accepted'),
        event(1, 'claimed', { attempt: 1 }),
        event(11, 'outcome_unknown'),
        lookedUp(40, 'unreachable'),
        event(60, 'released', { by: 'reconciler', verdict: 'not_found' }),
        event(61, 'claimed', { attempt: 2 }),
        event(62, 'settled', { status: 201 }),
        event(900, 'expired', { by: 'reaper' }),
      ]
      expect(states(storyOf(aKey('expired', { timeline })))).toEqual([
        'pending',
        'in_progress',
        'unknown',
        'unknown',
        'failed_retryable',
        'in_progress',
        'completed',
        'expired',
      ])
    })

    it('is unknown after an expired lease if the provider may have been called, else failed_retryable', () => {
      const over = event(60, 'lease_over', { by: 'sweeper' })
      const stateAfter = (...later: object[]) =>
        states(storyOf(aKey('completed', { timeline: [RESERVED, over, ...(later as (typeof over)[])] })))[1]
      expect(stateAfter(lookedUp(70, 'unreachable'), event(80, 'settled', { verdict: 'succeeded' }))).toBe('unknown')
      expect(stateAfter(event(70, 'claimed', { attempt: 2 }), event(80, 'settled'))).toBe('failed_retryable')
      expect(states(storyOf(aKey('unknown', { timeline: [RESERVED, over] })))).toEqual(['in_progress', 'unknown'])
    })
  })
})

describe('the gap between two events', () => {
  it('grows with the square root of the time, and is shortened beyond a maximum', () => {
    expect(gapOf(0)).toEqual({ px: 12, shortened: false })
    expect(gapOf(100)).toEqual({ px: 35, shortened: false })
    expect(gapOf(960)).toEqual({ px: 83, shortened: false })
    expect(gapOf(72_000)).toEqual({ px: 150, shortened: true })
    expect(gapOf(-1)).toEqual({ px: 12, shortened: false })
  })
})

describe('the time scale of a key', () => {
  const position = (moments: number[], end: number, seconds: number) => scaleOf(moments, end).at(seconds)

  it('has one stretch when one is enough to show every event', () => {
    expect(scaleOf([10, 20, 30], 40).stretches).toEqual([{ from: 0, to: 40, left: 0, right: 1 }])
    expect(position([10, 20, 30], 40, 10)).toBeCloseTo(0.25)
  })

  it('is cut once when a fast start is followed by a long wait', () => {
    const { stretches, at: place } = scaleOf([10, 40, 60, 1000, 1900], 2045)
    expect(stretches).toHaveLength(2)
    const [first, second] = stretches as [(typeof stretches)[0], (typeof stretches)[0]]
    expect(first.to).toBe(second.from)
    expect(second.left).toBeGreaterThan(first.right)
    expect(place(10)).toBeGreaterThan(0.03)
    expect(place(2045)).toBe(1)
  })

  it('shows both an answer after milliseconds and a replay hours later', () => {
    const place = scaleOf([0.041, 10_800], 11_000).at
    expect(place(0.041)).toBeGreaterThan(0.1)
    expect(place(10_800)).toBeGreaterThan(0.9)
  })

  it('never draws a later stretch at a larger scale than an earlier one', () => {
    for (const moments of [[0.084, 1.349, 1.484], [100, 101, 102], [5], []]) {
      const rates = scaleOf(moments, 110).stretches.map(({ from, to, left, right }) => (right - left) / (to - from))
      expect(rates.toSorted((a, b) => b - a)).toEqual(rates)
    }
  })

  it('keeps the order of time from one end of the axis to the other', () => {
    const { at: place } = scaleOf([1, 2, 3, 500, 7000], 9000)
    const line = [0, 1, 2, 3, 10, 500, 7000, 9000].map(place)
    expect(line.toSorted((a, b) => a - b)).toEqual(line)
    expect([line[0], line.at(-1)]).toEqual([0, 1])
  })

  it('does not fail for a key without events', () => {
    expect(scaleOf([], 0).at(0)).toBe(0)
  })

  it('has even ticks, far enough apart to be read', () => {
    const ticks = ticksOf({ from: 0, to: 75, left: 0, right: 0.4 })
    expect(ticks.map(({ seconds }) => seconds)).toEqual([30, 60])
    for (const [i, tick] of ticks.slice(1).entries()) expect(tick.at - ticks[i]!.at).toBeGreaterThan(0.08)
  })
})

describe('timeline labels', () => {
  const place = (...args: Parameters<typeof placeLabels>) =>
    placeLabels(...args).map(({ text, place }) => `${text} ${place}`)

  it('stand right of their mark, left of it if there is no room, else above it', () => {
    expect(place([{ at: 0.5, text: 'look-up' }], [[0.5, 0.5]], 600)).toEqual(['look-up right'])
    expect(place([{ at: 0.99, text: 'look-up' }], [[0.99, 0.99]], 600)).toEqual(['look-up left'])
    const crowd = [0.45, 0.5, 0.55].map((x) => [x, x] as const)
    expect(place([{ at: 0.5, text: 'look-up' }], crowd, 600)).toEqual(['look-up above'])
  })

  it('are dropped when a more important label takes the place', () => {
    const crowd = [0.48, 0.5, 0.52].map((x) => [x, x] as const)
    const wishes = [
      { at: 0.5, text: '422 misuse' },
      { at: 0.5, text: 'another one' },
    ]
    expect(place(wishes, crowd, 300)).toEqual(['422 misuse above'])
  })

  it('never overlap the cut in the scale', () => {
    expect(place([{ at: 0.48, text: 'a rather long one' }], [[0.48, 0.48]], 300, [0.5, 0.53])).toEqual([
      'a rather long one left',
    ])
    expect(place([{ at: 0.1, text: 'a rather long one' }], [[0.1, 0.1]], 300, [0.2, 0.23])).toEqual([])
  })
})

describe('timeline lanes', () => {
  const draw = (detail: ReturnType<typeof aKey>, now: number, acts: ReturnType<typeof act>[] = []): Lanes =>
    lanesOf(storyOf(detail, acts), { record: detail.record, now: at(now), settleMs: 120_000 })!

  it('draw the states end to end, the last one until now', () => {
    const lanes = draw(aKey('unknown', { timeline: [RESERVED, TIMED_OUT, lookedUp(40, 'unreachable')] }), 600)
    expect(lanes.states).toMatchObject([
      { state: 'in_progress', from: 0, seconds: 10 },
      { state: 'unknown', to: 1, seconds: 590, open: false },
    ])
    expect(lanes.states[0]!.to).toBe(lanes.states[1]!.from)
    expect(lanes.live).toBe(true)
  })

  it('end with the last event of a completed key', () => {
    const timeline = [RESERVED, event(1, 'settled', { status: 201 })]
    const lanes = draw(aKey('completed', { timeline }), 80_000)
    expect(lanes.live).toBe(false)
    expect(lanes.states.at(-1)).toMatchObject({ state: 'completed', open: true, to: 1 })
    expect(lanes.states.at(-1)!.seconds).toBeLessThan(1)
  })

  it('draw each request, answer, misuse and group of replays of the client', () => {
    const timeline = [
      RESERVED,
      event(1, 'released', { code: 'connection_refused' }),
      event(30, 'claimed', { attempt: 2, recoveryPoint: 'charging' }),
      event(31, 'settled', { status: 201 }),
    ]
    const detail = aKey('completed', {
      timeline,
      misuse: [{ ...MISUSE, at: at(40) }],
      record: { replayCount: 3, lastReplayedAt: at(50), attempt: 2 },
    })
    expect(draw(detail, 60).client.map(({ what, number }) => [what, number])).toEqual([
      ['request', 1],
      ['answer', 503],
      ['request', 2],
      ['answer', 201],
      ['misuse', 422],
      ['replays', 3],
    ])
  })

  it('draw only the client’s request when a worker processed it', () => {
    const timeline = [event(0, 'accepted'), event(1, 'claimed', { attempt: 1 }), event(11, 'outcome_unknown')]
    expect(draw(aKey('unknown', { timeline, record: { async: true } }), 60).client.map(({ what }) => what)).toEqual([
      'request',
    ])
  })

  it('mark a call without an answer, and the lease that outlived the call', () => {
    const lanes = draw(aKey('unknown', { timeline: [RESERVED, TIMED_OUT] }), 600)
    expect(lanes.calls).toMatchObject([{ answered: false, seconds: 10 }])
    expect(lanes.owners[0]!.leaseTo).toBeCloseTo(lanes.scale.at(60))
    const answered = draw(aKey('completed', { timeline: [RESERVED, event(1, 'settled', { status: 201 })] }), 600)
    expect(answered.calls).toMatchObject([{ answered: true, seconds: 1 }])
    expect(answered.owners[0]!.leaseTo).toBeNull()
  })

  it('draw each lookup, including the one that settled the key, and each operator action', () => {
    const timeline = [
      RESERVED,
      TIMED_OUT,
      lookedUp(40, 'unreachable'),
      lookedUp(100, 'unreachable'),
      event(200, 'settled', { by: 'reconciler', verdict: 'succeeded', status: 201 }),
    ]
    const lanes = draw(aKey('completed', { timeline }), 600, [act(300, {})])
    expect(lanes.lookUps.map(({ verdict, number }) => [verdict, number])).toEqual([
      ['unreachable', 1],
      ['unreachable', 2],
      ['succeeded', null],
    ])
    expect(lanes.people).toMatchObject([{ person: 'Mara Lindqvist' }])
  })

  it('are absent when the key has no events', () => {
    const detail = aKey('completed', { timeline: [] })
    expect(lanesOf(storyOf(detail), { record: detail.record, now: at(1), settleMs: 0 })).toBeNull()
  })
})

const MISUSE = {
  id: 'mis_1',
  at: at(50),
  tenantId: 'ten_1',
  endpoint: 'POST /api/orders',
  key: 'k',
  recordId: 'idem_1',
  changedPaths: ['$.items[0].quantity'],
  requestId: 'req_2',
}
