// What operators see of keys, numbers, misuse, discrepancies and of each other, each behind the check of its role.
// Reading changes nothing.
import { type AuditEntry, type AuditFilter, type AuditPage, listAudit } from '../audit/read'
import type { Store } from '../db/store'
import type { Input } from '../idempotency/operation'
import type { Listed, Page } from '../operators/page'
import { refuse } from '../operators/refusal'
import type { Guard, UseCase } from '../operators/use-case'
import { maskedAnswer } from '../orders/masking'
import type { Settings } from './advice'
import { type Attention, readAttention } from './attention'
import { closeDiscrepancy, type Discrepancy, type DiscrepancyFilter, listDiscrepancies } from './discrepancies'
import { findKeyDetail, type KeyDetail } from './key-detail'
import type { KeyFilter } from './keys-filter'
import type { KeyPage } from './keys-order'
import { type KeyList, listKeys } from './list-keys'
import type { Scope } from './measured'
import { listMisuse, type MisuseFilter, type MisusePage, type MisusePosition, type MisuseRow } from './misuse'
import { type MisuseSummary, type MisuseWindow, readMisuseSummary } from './misuse-summary'
import type { Next, NextReplay } from './next-replay'
import { readStats, type Stats } from './stats'
import { unmaskKey } from './unmask-key'
import type { Window } from './window'

interface Reasoned {
  id: string
  reason: string
}

export interface ConsoleUseCases {
  listKeys: UseCase<KeyPage & { filter: KeyFilter }, KeyList>
  showKey: UseCase<{ id: string }, KeyDetail>
  unmaskKey: UseCase<Reasoned, { request: Input }>
  showStats: UseCase<{ window: Window } & Scope, Stats>
  showAttention: UseCase<undefined, Attention[]>
  listMisuse: UseCase<MisuseFilter & MisusePage, { items: MisuseRow[]; next: MisusePosition | null }>
  summarizeMisuse: UseCase<{ window: MisuseWindow } & Scope, MisuseSummary>
  listDiscrepancies: UseCase<DiscrepancyFilter & Page, Listed<Discrepancy>>
  closeDiscrepancy: UseCase<Reasoned, Discrepancy>
  listAudit: UseCase<AuditFilter & AuditPage, { items: AuditEntry[]; next: { seq: number } | null }>
}

export interface ConsoleParts {
  store: Store
  guard: Guard
  settings: Settings
  /** What a client would be sent for it. */
  nextAnswer(next: Next, key: string): NextReplay
}

export function consoleUseCases({ store, guard, settings, nextAnswer }: ConsoleParts): ConsoleUseCases {
  const target = ({ id }: { id: string }) => id
  const reasoned = ({ id }: Reasoned) => id
  return {
    listKeys: guard({ action: 'key.list', role: 'viewer' }, (_, asked) => listKeys(store, asked)),
    showKey: guard({ action: 'key.show', role: 'viewer', target }, async (_, { id }) => {
      const found = await findKeyDetail(store, id)
      if (!found) return refuse('not_found')
      const { next, ...detail } = found
      return { ...detail, nextReplay: maskedAnswer(nextAnswer(next, detail.record.key)) }
    }),
    unmaskKey: guard({ action: 'key.unmask', role: 'operator', target: reasoned }, (call, asked) =>
      unmaskKey(store, call, asked),
    ),
    showStats: guard({ action: 'stats.show', role: 'viewer' }, (_, asked) => readStats(store, settings, asked)),
    showAttention: guard({ action: 'attention.show', role: 'viewer' }, () => readAttention(store)),
    listMisuse: guard({ action: 'misuse.list', role: 'viewer' }, (_, asked) => listMisuse(store, asked)),
    summarizeMisuse: guard({ action: 'misuse.list', role: 'viewer' }, (_, asked) => readMisuseSummary(store, asked)),
    listDiscrepancies: guard({ action: 'discrepancy.list', role: 'viewer' }, (_, asked) =>
      listDiscrepancies(store, asked),
    ),
    closeDiscrepancy: guard({ action: 'discrepancy.close', role: 'operator', target: reasoned }, (call, asked) =>
      closeDiscrepancy(store, call, asked),
    ),
    listAudit: guard({ action: 'audit.list', role: 'viewer' }, (_, asked) => listAudit(store, asked)),
  }
}
