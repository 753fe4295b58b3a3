'use server'
// What people do about their own account. The cookie that comes with the action says whose it is.
import { cookies, headers } from 'next/headers'
import { z } from 'zod'
import { newId } from '../../../lib/db/id'
import { Password } from '../../../lib/http/operator/access'
import { isRefused, refuse } from '../../../lib/operators/refusal'
import { type Answer, answer, answerTo } from '../_shell/answer'

const Change = z.strictObject({ currentPassword: z.string().min(1).max(128), newPassword: Password })

async function asked() {
  const sent = new Headers(await headers())
  return { headers: sent, requestId: sent.get('x-request-id') ?? newId('req') }
}

export async function changePassword(change: z.infer<typeof Change>): Promise<Answer<null>> {
  return answerTo(Change, change, async ({ services }, valid) => {
    const changed = await services.changePassword({ ...valid, ...(await asked()) })
    if (isRefused(changed)) return changed
    const jar = await cookies()
    jar.set(changed)
    return null
  })
}

export async function endOtherSessions(): Promise<Answer<number>> {
  return answer(async ({ services }) => (await services.endOtherSessions(await asked())) ?? refuse('unauthenticated'))
}
