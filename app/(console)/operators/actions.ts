'use server'
// What admins do about people and tokens: calls of the operator API, with its own checks.
import * as people from '../../../lib/http/operator/access'
import * as tokens from '../../../lib/http/operator/tokens'
import { type CreatedOperator, newPassword, type OperatorView } from '../../../lib/operators/people'
import type { Role } from '../../../lib/operators/role'
import type { CreatedToken, TokenView } from '../../../lib/operators/tokens'
import { type Answer, perform } from '../_shell/answer'

export const addOperator = async (body: {
  name: string
  email: string
  role: Role
}): Promise<Answer<CreatedOperator>> => perform(people.createOperator, { body })

export const updateOperator = async (
  id: string,
  body: { role?: Role; disabled?: boolean; reason?: string },
): Promise<Answer<OperatorView>> => perform(people.updateOperator, { params: { id }, body })

/** Made up here, shown once, and nowhere kept. */
export async function renewPassword(id: string, reason?: string): Promise<Answer<{ password: string }>> {
  const password = newPassword()
  const renewed = await perform(people.updateOperator, { params: { id }, body: { password, reason } })
  return renewed.ok ? { ok: true, value: { password } } : renewed
}

export const endSessions = async (id: string, reason?: string): Promise<Answer<null>> =>
  perform(people.endOperatorSessions, { params: { id }, query: { reason } })

export const createToken = async (body: {
  name: string
  role: Role
  expiresInDays: number | null
}): Promise<Answer<CreatedToken>> => perform(tokens.createToken, { body })

export const handTokenOver = async (
  id: string,
  body: { ownerId: string; reason?: string },
): Promise<Answer<TokenView>> => perform(tokens.updateToken, { params: { id }, body })

export const revokeToken = async (id: string, reason?: string): Promise<Answer<null>> =>
  perform(tokens.revokeToken, { params: { id }, query: { reason } })
