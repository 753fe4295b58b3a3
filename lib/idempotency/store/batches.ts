// The two verbs of every fresh request, batched: reservations of an operation that arrive together commit together, and so do
// its answers.
import { isRefusal } from '../../db/sqlstate'
import type { Db } from '../../db/store'
import { Collector } from './collector'
import { type Begins, type Created, type Reserving, reserveIn } from './reserve'
import { type Books, type Settled, type Settling, settleIn } from './settle'

export interface Batches {
  reserve(operation: Begins, item: Reserving): Promise<Created | null>
  settle(operation: Books, item: Settling): Promise<Settled | null>
}

export function openBatches(store: Db): Batches {
  const reserving = new Map<Begins, Collector<Reserving, Created | null>>()
  const settling = new Map<Books, Collector<Settling, Settled | null>>()
  return {
    reserve: (operation, item) =>
      collectorOf(reserving, operation, {
        run: (items) => store.transaction((tx) => reserveIn(tx, operation, items)),
        keyOf: ({ tenantId, key }) => `${tenantId} ${key}`,
        idOf: ({ recordId }) => recordId,
        isRefusal,
      }).add(item),
    settle: (operation, item) =>
      collectorOf(settling, operation, {
        run: (items) => store.transaction((tx) => settleIn(tx, operation, items)),
        keyOf: ({ recordId }) => recordId,
        idOf: ({ recordId }) => recordId,
        isRefusal,
      }).add(item),
  }
}

function collectorOf<Of, Item, Result>(
  collectors: Map<Of, Collector<Item, Result>>,
  operation: Of,
  collecting: ConstructorParameters<typeof Collector<Item, Result>>[0],
): Collector<Item, Result> {
  const known = collectors.get(operation)
  if (known) return known
  const made = new Collector(collecting)
  collectors.set(operation, made)
  return made
}
