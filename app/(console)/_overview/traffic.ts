// Who may send sample traffic, and the last one that was sent.
import { mayAct, type Role } from '../../../lib/operators/role'
import { readTraffic } from './reads'
import type { TrafficRun } from './traffic-progress'

export const forbiddenFor = (role: Role): string | null =>
  mayAct(role, 'operator') ? null : `This takes the role operator; yours is ${role}.`

/** How it failed is worth a look for so long. */
const SHOWN_AFTER_MS = 60_000

/** Null where there is none to show. One that nobody drives any more has failed. */
export async function trafficToShow(): Promise<TrafficRun | null> {
  const read = await readTraffic()
  const [last] = read.ok ? read.value.items : []
  if (!last) return null
  const { id, done, total, error, stopping, lost, finishedAt } = last
  if (lost) return null
  if (finishedAt && Date.now() - finishedAt.getTime() > SHOWN_AFTER_MS) return null
  return { id, state: last.state, done, total, error, stopping }
}
