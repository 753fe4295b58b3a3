// What operators see of themselves, and what admins see and do of operators and tokens, each behind the check of its
// role.
import type { Store } from '../db/store'
import type { Actor } from './actor'
import type { Listed, Page } from './page'
import {
  type CreatedOperator,
  createOperator,
  endSessions,
  type ListedOperator,
  listOperators,
  type NewOperator,
  type OperatorChange,
  type OperatorView,
  updateOperator,
} from './people'
import {
  type CreatedToken,
  createToken,
  listTokens,
  type NewToken,
  revokeToken,
  type TokenChange,
  type TokenView,
  updateToken,
} from './tokens'
import type { Guard, UseCase } from './use-case'

export interface AccessUseCases {
  showSession: UseCase<undefined, Actor>
  listOperators: UseCase<Page, Listed<ListedOperator>>
  createOperator: UseCase<NewOperator, CreatedOperator>
  updateOperator: UseCase<OperatorChange, OperatorView>
  endOperatorSessions: UseCase<{ id: string; reason?: string }, null>
  listTokens: UseCase<Page, Listed<TokenView>>
  createToken: UseCase<NewToken, CreatedToken>
  updateToken: UseCase<TokenChange, TokenView>
  revokeToken: UseCase<{ id: string; reason?: string }, null>
}

export function accessUseCases(store: Pick<Store, 'query'>, guard: Guard): AccessUseCases {
  const target = ({ id }: { id: string }) => id
  return {
    showSession: guard({ action: 'session.show', role: 'viewer' }, async ({ actor }) => actor),
    listOperators: guard({ action: 'operator.list', role: 'admin' }, (_, page) => listOperators(store, page)),
    createOperator: guard({ action: 'operator.create', role: 'admin' }, (call, operator) =>
      createOperator(store, call, operator),
    ),
    updateOperator: guard({ action: 'operator.update', role: 'admin', target }, (call, change) =>
      updateOperator(store, call, change),
    ),
    endOperatorSessions: guard({ action: 'operator.end_sessions', role: 'admin', target }, (call, whose) =>
      endSessions(store, call, whose),
    ),
    listTokens: guard({ action: 'token.list', role: 'admin' }, (_, page) => listTokens(store, page)),
    createToken: guard({ action: 'token.create', role: 'admin' }, (call, token) => createToken(store, call, token)),
    updateToken: guard({ action: 'token.hand_over', role: 'admin', target }, (call, change: TokenChange) =>
      updateToken(store, call, change),
    ),
    revokeToken: guard({ action: 'token.revoke', role: 'admin', target }, (call, token) =>
      revokeToken(store, call, token),
    ),
  }
}
