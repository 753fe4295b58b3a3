// Every call of the operator API, in the order in which the reference shows them.
import { createOperator, endOperatorSessions, listOperators, showSession, updateOperator } from './operator/access'
import { verifyAudit } from './operator/audit-chain'
import { eraseCustomer } from './operator/customers'
import { exportKeys } from './operator/export'
import { closeDiscrepancy, listAudit, listDiscrepancies, listMisuse, showStats } from './operator/insight'
import { expireKey, previewResolution, reconcileKey, resolveKey, resumeKey, runKeyAgain } from './operator/key-actions'
import { listKeys, showKey, unmaskKey } from './operator/keys'
import { reverseEntry } from './operator/ledger'
import { abortRun, listRuns, runBulk, runLedger, runReaper, runReconciler, runSweeper, showRun } from './operator/runs'
import { listSandboxCharges, sendSampleTraffic } from './operator/sandbox'
import { createApiKey, createTenant, listTenants, revokeApiKey, showTenant, updateTenant } from './operator/tenants'
import { createToken, listTokens, revokeToken, updateToken } from './operator/tokens'
import type { AnyOperatorCall } from './operator-call'

export const OPERATOR_CALLS: readonly AnyOperatorCall[] = [
  listKeys,
  exportKeys,
  showKey,
  unmaskKey,
  reconcileKey,
  previewResolution,
  resolveKey,
  runKeyAgain,
  resumeKey,
  expireKey,
  reverseEntry,
  eraseCustomer,
  runBulk,
  runSweeper,
  runReaper,
  runReconciler,
  runLedger,
  listRuns,
  showRun,
  abortRun,
  showStats,
  listMisuse,
  listDiscrepancies,
  closeDiscrepancy,
  listAudit,
  verifyAudit,
  listTenants,
  createTenant,
  showTenant,
  updateTenant,
  createApiKey,
  revokeApiKey,
  showSession,
  listOperators,
  createOperator,
  updateOperator,
  endOperatorSessions,
  listTokens,
  createToken,
  updateToken,
  revokeToken,
  listSandboxCharges,
  sendSampleTraffic,
]
