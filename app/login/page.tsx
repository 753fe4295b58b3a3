import { Server } from 'lucide-react'
import type { Metadata } from 'next'
import { headers } from 'next/headers'
import { operatorServices } from '../../lib/node/operator-services'
import manifest from '../../package.json'
import { Logo } from '../_ui/icons'
import { SignInForm } from './form'

export const metadata: Metadata = { title: { absolute: 'Sign in · Onceover' } }

export default async function Login({ searchParams }: { searchParams: Promise<{ next?: string | string[] }> }) {
  const { next } = await searchParams
  const host = (await headers()).get('host')
  return (
    <div className="flex min-h-dvh flex-col items-center bg-app px-4">
      <main className="w-full max-w-80 flex-1 pt-[18vh]">
        <p className="mb-8 flex items-center gap-2 text-14 font-semibold">
          <Logo />
          Onceover
        </p>
        <h1 className="mb-4 text-20 font-semibold">Sign in</h1>
        <SignInForm next={typeof next === 'string' ? next : undefined} />
        <p className="mt-5 text-12 text-text-2">No account? An admin adds you under Operators.</p>
        <p className="mt-1 text-12 text-text-2">
          First start? The admin’s password was printed once in the server’s log.
        </p>
      </main>
      <footer className="flex flex-wrap items-center justify-center gap-x-5 gap-y-1 py-6 text-12 text-text-2">
        <span className="flex items-center gap-2">
          <Server size={14} aria-hidden />
          {host}
        </span>
        <span>{operatorServices().gatewayName === 'sandbox' ? 'Sandbox gateway' : 'Stripe gateway'}</span>
        <span>Onceover {manifest.version}</span>
      </footer>
    </div>
  )
}
