'use server'
import { cookies, headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { newId } from '../../../lib/db/id'
import { operatorServices } from '../../../lib/node/operator-services'

export async function signOut(): Promise<void> {
  const sent = new Headers(await headers())
  const requestId = sent.get('x-request-id') ?? newId('req')
  const jar = await cookies()
  jar.set(await operatorServices().signOut({ headers: sent, requestId }))
  redirect('/login')
}
