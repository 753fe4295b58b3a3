// What the boundary needs from the node that it runs in.
import type { Store } from '../db/store'
import type { Waiting } from './waiting'

export interface Boundary {
  store: Store
  waiting: Waiting
  nodeId: string
  leaseMs: number
  settleMs: number
  defaultRetentionHours: number
}
