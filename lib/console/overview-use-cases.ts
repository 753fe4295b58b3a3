// What everybody sees on the overview, each part by itself: the page streams, and none waits for another.
import type { Store } from '../db/store'
import type { Guard, UseCase } from '../operators/use-case'
import type { Scope } from './measured'
import { type Background, readBackground } from './overview'
import { readTrends, type Trends } from './overview-trends'
import { hasHadKeys, readStateMap, type StateMapView } from './state-map'
import type { Window } from './window'

export interface OverviewUseCases {
  hasHadKeys: UseCase<undefined, boolean>
  showStateMap: UseCase<{ window: Window } & Scope, StateMapView>
  showBackground: UseCase<undefined, Background>
  showTrends: UseCase<{ window: Window } & Scope, Trends>
  pace: Pace
}

/** What happens by itself, and within how long. */
export interface Pace {
  /** An unknown outcome is found out by then, if the provider answers. */
  settlesWithinSeconds: number
  gatewayTimeLimitSeconds: number
}

export interface OverviewParts {
  store: Store
  pace: Pace
}

export function overviewUseCases({ store, pace }: OverviewParts, guard: Guard): OverviewUseCases {
  const viewer = { action: 'overview.show', role: 'viewer' } as const
  return {
    pace,
    hasHadKeys: guard(viewer, () => hasHadKeys(store)),
    showStateMap: guard(viewer, (_, asked) => readStateMap(store, asked)),
    showBackground: guard(viewer, () => readBackground(store)),
    showTrends: guard(viewer, (_, asked) => readTrends(store, asked)),
  }
}
