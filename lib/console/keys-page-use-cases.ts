// What the page of keys asks, each behind the check of its role. Nothing here waits for a count that has no bound.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { MAX_KEYS } from '../maintenance/bulk'
import type { Guard, UseCase } from '../operators/use-case'
import { type Export, type ExportedKey, exportKeys } from './export-keys'
import { type KeyRow, type KeyRows, readKeyRows, type Watched, watchKeys } from './key-rows'
import { type KeyFilter, selectKeyIds } from './keys-filter'
import { type KeyPage, someKeys } from './keys-order'
import type { Scope } from './measured'
import { countStates, type StateCounts } from './state-counts'
import { type Suggested, type Suggesting, suggestValues } from './suggest-values'

/** Of as many as one run takes; `more` where there are more than that. */
interface MatchCount {
  count: number
  more: boolean
}

export interface KeysPageUseCases {
  seeKeys: UseCase<KeyPage & { filter: KeyFilter }, KeyRows>
  watchKeys: UseCase<Watched, { fresh: number; rows: KeyRow[] }>
  countKeys: UseCase<{ filter: KeyFilter }, MatchCount>
  pickKeys: UseCase<{ filter: KeyFilter }, string[]>
  countStates: UseCase<Scope, StateCounts>
  suggestValues: UseCase<Suggesting, Suggested[]>
  exportKeys: UseCase<Export, AsyncGenerator<ExportedKey[]>>
}

interface KeysPageParts {
  store: Store
  /** For exports, which take long. */
  exports: Pick<Store, 'query'>
}

export function keysPageUseCases({ store, exports }: KeysPageParts, guard: Guard): KeysPageUseCases {
  return {
    seeKeys: guard({ action: 'key.list', role: 'viewer' }, (_, asked) => readKeyRows(store, asked)),
    watchKeys: guard({ action: 'key.list', role: 'viewer' }, (_, watched) => watchKeys(store, watched)),
    countKeys: guard({ action: 'key.list', role: 'viewer' }, async (_, { filter }) => {
      const [row] = await store.query<{ count: number }>(sql`
        SELECT count(*)::int AS count FROM (${someKeys(filter, MAX_KEYS + 1)}) k`)
      return { count: Math.min(row!.count, MAX_KEYS), more: row!.count > MAX_KEYS }
    }),
    pickKeys: guard({ action: 'key.list', role: 'viewer' }, (_, { filter }) => selectKeyIds(store, filter, MAX_KEYS)),
    countStates: guard({ action: 'key.list', role: 'viewer' }, (_, scope) => countStates(store, scope)),
    suggestValues: guard({ action: 'key.list', role: 'viewer' }, (_, asked) => suggestValues(store, asked)),
    exportKeys: guard({ action: 'key.export', role: 'viewer' }, (_, asked) => exportKeys(exports, asked)),
  }
}
