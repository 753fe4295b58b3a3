import type { Metadata } from 'next'
import { headers } from 'next/headers'
import { refuse } from '../../../lib/operators/refusal'
import { Section } from '../../_ui/section'
import { answer } from '../_shell/answer'
import { PageBody, PageHeader } from '../_shell/header'
import { Unread } from '../_shell/unread'
import { OwnPassword } from './password'
import { OwnSessions } from './sessions'

export const metadata: Metadata = { title: 'Your account' }

export default async function Account() {
  const sent = new Headers(await headers())
  const found = await answer(async ({ call, services }) => {
    const sessions = await services.ownSessions(sent)
    return sessions ? { me: call.actor, sessions } : refuse('unauthenticated')
  })
  return (
    <>
      <PageHeader title="Your account" />
      <PageBody>
        {found.ok ? (
          <>
            <p className="border-b border-line py-5 [overflow-wrap:anywhere]">
              {found.value.me.name}, {found.value.me.email}. Your role is {found.value.me.role}.
            </p>
            <Section title="Password">
              <OwnPassword email={found.value.me.email ?? ''} />
            </Section>
            <Section title="Sessions" note="Where you are signed in" className="border-t border-line">
              <OwnSessions sessions={found.value.sessions} />
            </Section>
          </>
        ) : (
          <div className="py-5">
            <Unread what="Your account" why={found.message} />
          </div>
        )}
      </PageBody>
    </>
  )
}
