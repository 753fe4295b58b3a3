'use server'
import { cookies, headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { newId } from '../../lib/db/id'
import { isUnavailable } from '../../lib/db/sqlstate'
import { ownPath } from '../../lib/http/own-path'
import { operatorServices } from '../../lib/node/operator-services'
import { isRefused } from '../../lib/operators/refusal'

/** Why it did not work, in words. What was typed stays in the form, but for the password. */
export interface SignInState {
  error: string | null
}

export async function signIn(_: SignInState, form: FormData): Promise<SignInState> {
  const sent = new Headers(await headers())
  const requestId = sent.get('x-request-id') ?? newId('req')
  const asked = { email: String(form.get('email') ?? ''), password: String(form.get('password') ?? '') }
  const result = await operatorServices()
    .signIn({ ...asked, headers: sent, requestId })
    .catch((error) => {
      if (isUnavailable(error)) return null
      throw error
    })
  if (!result) return { error: 'The database can’t be reached, so nobody can sign in just now. Try again in a moment.' }
  if (isRefused(result)) {
    const minutes = Math.ceil((result.afterSeconds ?? 0) / 60)
    return result.refused === 'rate_limited'
      ? { error: `Too many tries. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.` }
      : { error: 'That e-mail address and password don’t fit together.' }
  }
  const jar = await cookies()
  jar.set(result.cookie)
  jar.set(result.device)
  redirect(ownPath(form.get('next')))
}
