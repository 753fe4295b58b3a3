// A transition: one record goes from one state to another. The store's verbs commit it; what follows from the two states is
// observed here, and nowhere else.
import { raw, type Sql } from 'sql-template-tag'
import type { Db } from '../../db/store'
import type { Boundary, Step } from '../boundary'
import type { Moved } from '../operation'
import type { State } from '../states'

/** What a transition needs of the boundary. */
export type Through = { store: Db } & Pick<Boundary, 'observe' | 'step' | 'batches'>

export interface Transition extends Moved {
  /** Null when the record was created. */
  from: State | null
  /** Somebody waits for the end of the attempt. */
  awaited: boolean
  /** Of an outcome that was found out: how long it had been unknown. */
  unknownSeconds: number | null
}

/** What every guarded UPDATE of `idempotency_records r` returns. */
export const MOVED: Sql = raw('r.id, r.tenant_id AS "tenantId", r.endpoint, r.state, r.version, r.awaited')
export type MovedRow = Moved & { awaited: boolean }

/** Null when the record was not there any more as the writer had read it: nothing was done. */
export async function transition<Done extends Transition>(
  { observe, step }: Pick<Through, 'observe' | 'step'>,
  done: Step,
  commit: () => Promise<Done | null | undefined>,
): Promise<Done | null> {
  const moved = (await commit()) ?? null
  if (moved) observeMove(observe, moved)
  await step?.(moved ? done : 'late')
  return moved
}

export function observeMove(
  observe: Boundary['observe'],
  { from, state: to, endpoint, tenantId, unknownSeconds }: Omit<Transition, 'id' | 'version' | 'awaited'>,
): void {
  if (!observe) return
  const of = { endpoint, tenantId }
  observe({ kind: 'moved', from, to, unknownSeconds, ...of })
  if (from === null) observe({ kind: 'created', ...of })
  if (to === 'in_progress' && (from === 'pending' || from === 'failed_retryable'))
    observe({ kind: 'claimed', from, ...of })
  if (from === 'in_progress' && to === 'unknown') observe({ kind: 'reconcile_scheduled', ...of })
  if (from === 'unknown') observe({ kind: 'reconcile_resolved', ...of })
}
