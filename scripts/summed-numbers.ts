// The numbers of several processes as one. What a process told last stays in the sum after it has ended, so no counter
// that was shown ever goes backwards because a process was replaced. What one that was killed counted since is lost,
// as it is with any process that is killed.
import { AggregatorRegistry } from 'prom-client'
import type { Numbers } from '../lib/metrics/exposition'

export interface SummedNumbers {
  /** What it has counted since it began. */
  told(who: object, numbers: Numbers): void
  left(who: object): void
  sum(): Numbers
}

export function openSummedNumbers(): SummedNumbers {
  const last = new Map<object, Numbers>()
  let ofThoseWhoLeft: Numbers = []
  return {
    told(who, numbers) {
      last.set(who, numbers)
    },
    left(who) {
      ofThoseWhoLeft = add([ofThoseWhoLeft, last.get(who) ?? []])
      last.delete(who)
    },
    sum: () => add([ofThoseWhoLeft, ...last.values()]),
  }
}

// Not `getMetricsAsJSON`, which is a promise: somebody may leave meanwhile. The library's types don't know that what it
// has summed carries its values.
const add = (all: Numbers[]): Numbers => AggregatorRegistry.aggregate(all).getMetricsAsArray() as Numbers
