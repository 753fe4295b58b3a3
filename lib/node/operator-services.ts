// The operators' half of a node: every use case of the console and its API, put together once a process.
import { type AuditUseCases, auditUseCases } from '../audit/use-cases'
import { servedPort } from '../config'
import { type AccessViews, accessViews } from '../console/access-use-cases'
import { type KeyUseCases, keyUseCases } from '../console/key-use-cases'
import { type KeyFilter, selectKeyIds } from '../console/keys-filter'
import { type KeysPageUseCases, keysPageUseCases } from '../console/keys-page-use-cases'
import { type OverviewUseCases, overviewUseCases } from '../console/overview-use-cases'
import { findOperatorRecord, type OperatorRecord } from '../console/record-view'
import { type RunUseCases, runUseCases } from '../console/run-use-cases'
import { countUnknown } from '../console/unknown-count'
import { type ConsoleUseCases, consoleUseCases } from '../console/use-cases'
import type { Store } from '../db/store'
import { nextAnswer } from '../http/next-answer'
import { type MaintenanceUseCases, maintenanceUseCases } from '../maintenance/use-cases'
import type { Actor } from '../operators/actor'
import { actorOfToken } from '../operators/identity'
import { refuse } from '../operators/refusal'
import { openSessions, type Sessions } from '../operators/session'
import { openGuard, type UseCase } from '../operators/use-case'
import { type AccessUseCases, accessUseCases } from '../operators/use-cases'
import type { Gateway } from '../payments/gateway'
import { type ChargesQuery, listCharges } from '../payments/sandbox-ledger'
import { processWide } from '../process-wide'
import type { FenceStatus } from '../reconciliation/lost-effects'
import { type ReconciliationUseCases, reconciliationUseCases } from '../reconciliation/use-cases'
import { type TenantUseCases, tenantUseCases } from '../tenants/use-cases'
import { type TrafficUseCases, trafficUseCases } from '../traffic/use-cases'
import { services } from './services'

export interface OperatorServices
  extends Sessions,
    AccessUseCases,
    TenantUseCases,
    AuditUseCases,
    ConsoleUseCases,
    KeysPageUseCases,
    ReconciliationUseCases<OperatorRecord>,
    MaintenanceUseCases<OperatorRecord, KeyFilter>,
    TrafficUseCases,
    OverviewUseCases,
    AccessViews,
    KeyUseCases,
    RunUseCases {
  store: Store
  gatewayName: Gateway['name']
  /** Null where no fence is up. */
  restoreStatus(): Promise<FenceStatus | null>
  unknownCount: UseCase<undefined, number>
  actorOfToken(token: string): Promise<Actor | null>
  sandboxCharges: UseCase<ChargesQuery, Awaited<ReturnType<typeof listCharges>>>
  /** A stranger is counted and not written down: strangers must not be able to fill the log. */
  countUnauthenticated(): void
}

/** Anew at every call in development: the code that it is made of changes under it. */
export const operatorServices = (): OperatorServices =>
  process.env.NODE_ENV === 'development'
    ? openOperatorServices()
    : processWide('operator-services', openOperatorServices)

function openOperatorServices(): OperatorServices {
  const node = services()
  const { consoleStore: store } = node
  const guard = openGuard(store)
  const findRecord = (id: string) => findOperatorRecord(store, id)
  return {
    store,
    gatewayName: node.gateway.name,
    restoreStatus: async () => (await node.fence?.status()) ?? null,
    unknownCount: guard({ action: 'keys.count_unknown', role: 'viewer' }, () => countUnknown(store)),
    actorOfToken: (token) => actorOfToken(store, token, node.config.adminToken),
    ...openSessions(store, node.config.authSecret),
    sandboxCharges: guard({ action: 'sandbox.charges', role: 'viewer' }, async (_, query) =>
      node.gateway.name === 'sandbox' ? listCharges(node.sandboxPool, query) : refuse('not_found'),
    ),
    ...accessUseCases(store, guard),
    ...tenantUseCases(store, guard),
    ...auditUseCases(store, guard),
    ...consoleUseCases({
      store,
      guard,
      nextAnswer,
      settings: {
        leaseSeconds: node.config.leaseMs / 1000,
        gatewayTimeLimitSeconds: node.config.gatewayTimeLimitMs / 1000,
        retentionSeconds: node.config.keyTtlHours * 3600,
      },
    }),
    ...keysPageUseCases({ store, exports: node.exportStore }, guard),
    ...reconciliationUseCases(node.reconciliation, guard, findRecord),
    ...maintenanceUseCases(
      {
        store,
        observe: node.boundary.observe,
        operations: node.operations,
        runner: node.runner,
        findRecord,
        selectKeyIds: (filter: KeyFilter, limit) => selectKeyIds(store, filter, limit),
      },
      guard,
    ),
    ...trafficUseCases(
      {
        store,
        runner: node.runner,
        isSandbox: node.gateway.name === 'sandbox',
        url: () => `http://127.0.0.1:${servedPort()}`,
      },
      guard,
    ),
    ...overviewUseCases(
      {
        store,
        pace: {
          settlesWithinSeconds: (node.config.leaseMs + node.config.settleMs + node.reconciliation.intervalMs) / 1000,
          gatewayTimeLimitSeconds: node.config.gatewayTimeLimitMs / 1000,
        },
      },
      guard,
    ),
    ...accessViews(store, guard),
    ...keyUseCases(
      { store, rules: { settleMs: node.config.settleMs, maxLookUps: node.config.reconcileMaxAttempts } },
      guard,
    ),
    ...runUseCases(
      {
        store,
        intervals: new Map(node.daemons.map(({ daemon, intervalMs }) => [daemon.kind, intervalMs])),
        tombstoneHours: node.config.tombstoneHours,
      },
      guard,
    ),
    countUnauthenticated: node.metrics.operatorUnauthenticated,
  }
}
