// What the parts of the page ask for, each once a request, however many parts want it.
import { cache } from 'react'
import type { Window } from '../../../lib/console/window'
import { answer } from '../_shell/answer'
import type { View } from './window'

const scopeOf = (tenant?: string, endpoint?: string) => ({
  ...(tenant === undefined ? {} : { tenant }),
  ...(endpoint === undefined ? {} : { endpoint }),
})

// Arguments by value: that is how a request's cache knows them again.
const stateMap = cache((window: Window, tenant?: string, endpoint?: string) =>
  answer(({ call, services }) => services.showStateMap(call, { window, ...scopeOf(tenant, endpoint) })),
)
const stats = cache((window: Window, tenant?: string, endpoint?: string) =>
  answer(({ call, services }) => services.showStats(call, { window, ...scopeOf(tenant, endpoint) })),
)
const trends = cache((window: Window, tenant?: string, endpoint?: string) =>
  answer(({ call, services }) => services.showTrends(call, { window, ...scopeOf(tenant, endpoint) })),
)

export const readStateMap = ({ window, tenant, endpoint }: View) => stateMap(window, tenant, endpoint)
export const readStats = ({ window, tenant, endpoint }: View) => stats(window, tenant, endpoint)
export const readTrends = ({ window, tenant, endpoint }: View) => trends(window, tenant, endpoint)

export const readAttention = cache(() => answer(({ call, services }) => services.showAttention(call, undefined)))
export const readBackground = cache(() => answer(({ call, services }) => services.showBackground(call, undefined)))
export const readHasHadKeys = cache(() => answer(({ call, services }) => services.hasHadKeys(call, undefined)))

/** The last one that was sent. */
export const readTraffic = cache(() =>
  answer(({ call, services }) => services.seeRuns(call, { filter: { kind: 'traffic' }, limit: 1, after: null })),
)

/** Who looks, and at what kind of node. */
export const readSetting = cache(() =>
  answer(async ({ call, services }) => ({
    role: call.actor.role,
    pace: services.pace,
    isSandbox: services.gatewayName === 'sandbox',
  })),
)
