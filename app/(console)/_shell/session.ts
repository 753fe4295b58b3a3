// Who is looking at this page. Every page and every action begins with this; what they may do is the use case's
// business.
import { headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { cache } from 'react'
import { newId } from '../../../lib/db/id'
import { type OperatorServices, operatorServices } from '../../../lib/node/operator-services'
import { type Call, callOf } from '../../../lib/operators/actor'

export interface Session {
  call: Call
  services: OperatorServices
}

/** Once a request, however many parts of the page ask. Without a session: to the sign-in, and back here afterwards. */
export async function requireSession(): Promise<Session> {
  const session = await sessionOf()
  if (session) return session
  const here = (await headers()).get('x-onceover-path')
  redirect(here && here !== '/' ? `/login?next=${encodeURIComponent(here)}` : '/login')
}

const sessionOf = cache(async (): Promise<Session | null> => {
  const services = operatorServices()
  const sent = await headers()
  const actor = await services.actorOfSession(new Headers(sent))
  return actor && { services, call: callOf(actor, sent.get('x-request-id') ?? newId('req')) }
})
