// The one door to everything that operators see or do. A use case is made here or not at all, so whoever calls it (a
// route, a page, a script) passes the check of the role, and a refusal is remembered.
import { appendRefusal } from '../audit/append'
import type { Store } from '../db/store'
import type { Call } from './actor'
import { type Refused, refuse } from './refusal'
import { mayAct, type Role } from './role'

export interface Rule {
  /** As the audit log names it: what it is about, and the verb. */
  action: `${string}.${string}`
  role: Role
}

export interface UseCase<Input, Output> extends Rule {
  (call: Call, input: Input): Promise<Output | Refused>
  /** The check alone, for a caller that would otherwise tell somebody who may not what is wrong with the question. */
  authorize(call: Call, target?: string | null): Promise<Refused | null>
}

export type Guard = ReturnType<typeof openGuard>

export function openGuard(store: Pick<Store, 'query'>) {
  return function useCase<Input, Output>(
    rule: Rule & { target?(input: Input): string | null },
    run: (call: Call, input: Input) => Promise<Output | Refused>,
  ): UseCase<Input, Output> {
    async function authorize({ actor, requestId }: Call, target: string | null = null): Promise<Refused | null> {
      if (mayAct(actor.role, rule.role)) return null
      await appendRefusal(store, { actor, requestId, action: rule.action, target })
      return refuse('forbidden', { detail: `This takes the role ${rule.role}; yours is ${actor.role}.` })
    }
    const guarded = async (call: Call, input: Input) =>
      (await authorize(call, rule.target?.(input) ?? null)) ?? run(call, input)
    return Object.assign(guarded, { action: rule.action, role: rule.role, authorize })
  }
}
