'use server'
import type { Verification } from '../../../lib/audit/verify'
import { type Answer, answer } from '../_shell/answer'

export const verifyChain = async (): Promise<Answer<Verification>> =>
  answer(({ call, services }) => services.verifyAudit(call, undefined))
