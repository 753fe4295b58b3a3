// Views that somebody on call opens again and again.
import { hrefOf, type View, WHOLE_LIST } from './view'

const VIEWS: readonly [name: string, view: Partial<View>][] = [
  ['Dead letters', { filter: { deadLettered: true } }],
  ['Unknown for more than 10 minutes', { filter: { state: ['unknown'], minAgeSeconds: 600 } }],
  ['Next look-ups', { filter: { state: ['unknown'] }, sort: 'reconcileAfter' }],
  ['Leases', { filter: { state: ['in_progress'] }, sort: '-lockedUntil' }],
  ['Most replayed', { sort: '-replayCount' }],
]

export const READY_VIEWS = VIEWS.map(([name, view]) => ({ name, href: hrefOf({ ...WHOLE_LIST, ...view }) }))
