// What stands around every page: the way about on the left, the page itself, and the palette. Nothing here waits for
// the page's numbers.
import { type ReactNode, Suspense } from 'react'
import { operatorServices } from '../../../lib/node/operator-services'
import manifest from '../../../package.json'
import { ToastProvider } from '../../_ui/toast'
import { count } from '../../_ui/words'
import { Palette } from './palette'
import { Person } from './person'
import { RestoreBanner } from './restore-banner'
import { requireSession, type Session } from './session'
import { Sidebar, SidebarSheet } from './sidebar'

interface ShellProps {
  /** `unknown` while the store can't be asked who this is: then the page itself says so. */
  session: Session | 'unknown'
  children: ReactNode
}

export function Shell({ session, children }: ShellProps) {
  const known = typeof session === 'object'
  const side = {
    gateway: operatorServices().gatewayName === 'sandbox' ? 'Sandbox gateway' : 'Stripe gateway',
    version: manifest.version,
    unknown: known && (
      <Suspense>
        <UnknownKeys />
      </Suspense>
    ),
    person: known && <Person name={session.call.actor.name} role={session.call.actor.role} />,
  }
  return (
    <ToastProvider>
      <a
        href="#content"
        className="fixed top-2 left-2 z-60 -translate-y-16 rounded-2 bg-ink px-3 py-2 text-on-ink focus:translate-y-0"
      >
        Skip to content
      </a>
      <div className="flex min-h-dvh">
        <Sidebar {...side} />
        <div className="flex min-w-0 flex-1 flex-col">
          {known && (
            <Suspense>
              <RestoreBanner />
            </Suspense>
          )}
          <div className="relative flex min-w-0 flex-1 flex-col">
            <div className="absolute top-2.5 left-4 z-10 wide:hidden">
              <SidebarSheet {...side} />
            </div>
            <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
              {children}
            </main>
          </div>
        </div>
      </div>
      {known && <Palette />}
    </ToastProvider>
  )
}

/** How many wait for somebody. That it can't be told is no reason to show no page. */
async function UnknownKeys() {
  const { call, services } = await requireSession()
  const unknown = await services.unknownCount(call, undefined).catch(() => null)
  return typeof unknown === 'number' && unknown > 0 ? count(unknown) : null
}
