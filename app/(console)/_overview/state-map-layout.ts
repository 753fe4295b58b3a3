// Where everything stands on the state map, in its two shapes: wide, and narrow for phones. Positions never change, so
// that people learn them. The arrows are the moves of lib/idempotency/states.ts and no others: a test holds them
// together.
import type { Flow } from '../../../lib/idempotency/flows'
import type { State } from '../../../lib/idempotency/states'

export interface Box {
  x: number
  y: number
  w: number
  h: number
}

interface Label {
  x: number
  y: number
  anchor?: 'start' | 'middle' | 'end'
  /** The rate goes under the verb. */
  rate?: { x: number; y: number }
  /** A shorter verb, where there is little room. */
  word?: string
  /** No room for a verb at all: the rate alone stands here. */
  rateOnly?: true
}

interface Arrow {
  /** Ends where its tip points. */
  path: string
  tip: { x: number; y: number; to: 'right' | 'left' | 'up' | 'down' }
  label: Label
}

export interface MapLayout {
  width: number
  height: number
  api: { line: string; label: { x: number; y: number } }
  boxes: Record<State, Box>
  /** The height of one that piles up, where there is room for it. */
  grown: Partial<Record<State, number>>
  arrows: Record<Flow, Arrow>
  /** What is said beside a state that piles up, where there is room. */
  callout: { x: number; y: number } | null
  /** Small screens leave out arrows without traffic. */
  dropsIdle: boolean
}

export const WIDE: MapLayout = {
  width: 1184,
  height: 470,
  api: { line: 'M2 32V196', label: { x: 0, y: 14 } },
  boxes: {
    pending: { x: 96, y: 4, w: 192, h: 98 },
    in_progress: { x: 336, y: 122, w: 200, h: 108 },
    completed: { x: 648, y: 122, w: 200, h: 108 },
    expired: { x: 952, y: 122, w: 176, h: 108 },
    failed_retryable: { x: 216, y: 298, w: 200, h: 108 },
    unknown: { x: 500, y: 290, w: 256, h: 116 },
  },
  grown: { unknown: 140 },
  arrows: {
    accepted: {
      path: 'M4 56H88',
      tip: { x: 96, y: 56, to: 'right' },
      label: { x: 48, y: 46, anchor: 'middle', rate: { x: 48, y: 74 } },
    },
    reserved: {
      path: 'M4 176H328',
      tip: { x: 336, y: 176, to: 'right' },
      label: { x: 168, y: 166, anchor: 'middle', rate: { x: 168, y: 194 } },
    },
    claimed: {
      path: 'M288 68H428a8 8 0 0 1 8 8V114',
      tip: { x: 436, y: 122, to: 'down' },
      label: { x: 362, y: 58, anchor: 'middle', rate: { x: 362, y: 86 } },
    },
    swept: {
      path: 'M288 22H740a8 8 0 0 1 8 8V114',
      tip: { x: 748, y: 122, to: 'down' },
      label: { x: 590, y: 14, anchor: 'middle', rate: { x: 590, y: 40 } },
    },
    settled: {
      path: 'M536 176H640',
      tip: { x: 648, y: 176, to: 'right' },
      label: { x: 592, y: 166, anchor: 'middle', rate: { x: 592, y: 194 } },
    },
    reaped: {
      path: 'M848 176H944',
      tip: { x: 952, y: 176, to: 'right' },
      label: { x: 899, y: 166, anchor: 'middle', rate: { x: 899, y: 194 } },
    },
    deleted: {
      path: 'M1128 176H1176',
      tip: { x: 1184, y: 176, to: 'right' },
      label: { x: 1156, y: 166, anchor: 'middle', rate: { x: 1156, y: 194 } },
    },
    released: {
      path: 'M356 230V290',
      tip: { x: 356, y: 298, to: 'down' },
      label: { x: 346, y: 258, anchor: 'end', rate: { x: 346, y: 275 } },
    },
    reclaimed: {
      path: 'M396 298V238',
      tip: { x: 396, y: 230, to: 'up' },
      label: { x: 406, y: 258, rate: { x: 406, y: 275 } },
    },
    lost: {
      path: 'M518 230V282',
      tip: { x: 518, y: 290, to: 'down' },
      label: { x: 530, y: 254, rate: { x: 530, y: 271 } },
    },
    reconciled: {
      path: 'M716 290V238',
      tip: { x: 716, y: 230, to: 'up' },
      label: { x: 726, y: 254, rate: { x: 726, y: 271 } },
    },
    not_executed: {
      path: 'M500 352H424',
      tip: { x: 416, y: 352, to: 'left' },
      label: { x: 459, y: 342, anchor: 'middle', rate: { x: 459, y: 370 } },
    },
    disputed: {
      path: 'M416 322H492',
      tip: { x: 500, y: 322, to: 'right' },
      label: { x: 459, y: 313, anchor: 'middle', rateOnly: true },
    },
    recharged: {
      path: 'M416 392H436a8 8 0 0 0 8-8V268a8 8 0 0 1 8-8H672a8 8 0 0 0 8-8V238',
      tip: { x: 680, y: 230, to: 'up' },
      label: { x: 650, y: 254, anchor: 'middle', rate: { x: 650, y: 275 } },
    },
    reaped_retryable: {
      path: 'M316 406V442a8 8 0 0 0 8 8H1032a8 8 0 0 0 8-8V238',
      tip: { x: 1040, y: 230, to: 'up' },
      label: { x: 880, y: 440, anchor: 'middle', rate: { x: 880, y: 467 } },
    },
  },
  callout: { x: 780, y: 306 },
  dropsIdle: false,
}

export const NARROW: MapLayout = {
  width: 328,
  height: 640,
  api: { line: 'M0 22H328', label: { x: 0, y: 12 } },
  boxes: {
    pending: { x: 172, y: 62, w: 140, h: 82 },
    in_progress: { x: 0, y: 156, w: 128, h: 86 },
    failed_retryable: { x: 172, y: 160, w: 140, h: 82 },
    unknown: { x: 172, y: 296, w: 140, h: 116 },
    completed: { x: 0, y: 452, w: 128, h: 74 },
    expired: { x: 0, y: 566, w: 128, h: 74 },
  },
  grown: {},
  arrows: {
    accepted: {
      path: 'M250 22V54',
      tip: { x: 250, y: 62, to: 'down' },
      label: { x: 258, y: 38, rate: { x: 258, y: 53 } },
    },
    reserved: {
      path: 'M36 22V148',
      tip: { x: 36, y: 156, to: 'down' },
      label: { x: 46, y: 74, rate: { x: 46, y: 90 } },
    },
    claimed: {
      path: 'M172 110H108a8 8 0 0 0-8 8V148',
      tip: { x: 100, y: 156, to: 'down' },
      label: { x: 136, y: 102, anchor: 'middle', rate: { x: 136, y: 128 } },
    },
    swept: {
      path: 'M172 84H158a8 8 0 0 0-8 8V480a8 8 0 0 1-8 8H136',
      tip: { x: 128, y: 488, to: 'left' },
      label: { x: 156, y: 440, rate: { x: 156, y: 456 } },
    },
    settled: {
      path: 'M36 242V444',
      tip: { x: 36, y: 452, to: 'down' },
      label: { x: 46, y: 356, rate: { x: 46, y: 372 } },
    },
    reaped: {
      path: 'M36 526V558',
      tip: { x: 36, y: 566, to: 'down' },
      label: { x: 46, y: 544, rate: { x: 46, y: 560 } },
    },
    deleted: {
      path: 'M128 620H160',
      tip: { x: 168, y: 620, to: 'right' },
      label: { x: 174, y: 618, rate: { x: 174, y: 634 } },
    },
    released: {
      path: 'M128 186H164',
      tip: { x: 172, y: 186, to: 'right' },
      label: { x: 148, y: 178, anchor: 'middle', rateOnly: true },
    },
    reclaimed: {
      path: 'M172 216H136',
      tip: { x: 128, y: 216, to: 'left' },
      label: { x: 152, y: 233, anchor: 'middle', rateOnly: true },
    },
    lost: {
      path: 'M100 242V340a8 8 0 0 0 8 8H164',
      tip: { x: 172, y: 348, to: 'right' },
      label: { x: 94, y: 290, anchor: 'end', word: 'lost', rate: { x: 94, y: 306 } },
    },
    reconciled: {
      path: 'M250 412V468a8 8 0 0 1-8 8H136',
      tip: { x: 128, y: 476, to: 'left' },
      label: { x: 240, y: 446, anchor: 'end', rate: { x: 240, y: 462 } },
    },
    not_executed: {
      path: 'M250 296V250',
      tip: { x: 250, y: 242, to: 'up' },
      label: { x: 240, y: 266, anchor: 'end', rate: { x: 240, y: 282 } },
    },
    disputed: {
      path: 'M290 242V288',
      tip: { x: 290, y: 296, to: 'down' },
      label: { x: 298, y: 274, rateOnly: true },
    },
    recharged: {
      path: 'M186 242V252a8 8 0 0 1-8 8H170a8 8 0 0 0-8 8V456a8 8 0 0 1-8 8H136',
      tip: { x: 128, y: 464, to: 'left' },
      label: { x: 168, y: 428, rate: { x: 168, y: 444 } },
    },
    reaped_retryable: {
      path: 'M312 200a8 8 0 0 1 8 8V584a8 8 0 0 1-8 8H136',
      tip: { x: 128, y: 592, to: 'left' },
      label: { x: 250, y: 584, anchor: 'middle', rate: { x: 250, y: 610 } },
    },
  },
  callout: null,
  dropsIdle: true,
}
