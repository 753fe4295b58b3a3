// Who acts: a person who signed in, a token of a script, or the environment's own token.
import { type IdPrefix, newId } from '../db/id'
import type { Role } from './role'

export interface Actor {
  /** `opr_…`, `tok_…`, or the name of the environment's token. */
  id: string
  name: string
  role: Role
  /** Of a person. */
  email?: string
}

/** The environment's ADMIN_TOKEN is an operator token with the role admin, for automation. */
export const ENVIRONMENT_ACTOR: Actor = { id: 'ADMIN_TOKEN', name: 'ADMIN_TOKEN', role: 'admin' }

/** One call of a use case: by whom, in which request, and under which id the thing that it makes will be known. */
export interface Call {
  actor: Actor
  requestId: string
  /** The id of what this call makes: one a call, the same however often the call is repeated with its key. */
  newId(prefix: IdPrefix): string
}

export const callOf = (actor: Actor, requestId: string): Call => ({ actor, requestId, newId })
