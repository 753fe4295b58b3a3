import { GeistMono } from 'geist/font/mono'
import { GeistSans } from 'geist/font/sans'
import type { Metadata, Viewport } from 'next'
import { cookies, headers } from 'next/headers'
import type { ReactNode } from 'react'
import { Nonce } from './_ui/nonce'
import { THEME_COOKIE, type Theme, ZONE_COOKIE } from './_ui/preferences'
import { ThemeProvider } from './_ui/theme'
import { ZoneProvider } from './_ui/zone'
import './globals.css'

export const metadata: Metadata = {
  title: { default: 'Onceover', template: '%s · Onceover' },
  description: 'An idempotency layer for payment APIs: what is sent twice is carried out once.',
}

export const viewport: Viewport = {
  colorScheme: 'light dark',
  themeColor: [
    { media: '(prefers-color-scheme: light)', color: '#ffffff' },
    { media: '(prefers-color-scheme: dark)', color: '#111215' },
  ],
}

// Reading the request makes every page dynamic, which it has to be: its scripts carry the nonce of this one answer.
export default async function RootLayout({ children }: { children: ReactNode }) {
  const [sent, jar] = await Promise.all([headers(), cookies()])
  const theme = themeOf(jar.get(THEME_COOKIE)?.value)
  return (
    <html
      lang="en"
      className={`${GeistSans.variable} ${GeistMono.variable}`}
      data-theme={theme === 'system' ? undefined : theme}
    >
      <body>
        <Nonce value={sent.get('x-nonce') ?? undefined} />
        <ThemeProvider theme={theme}>
          <ZoneProvider zone={zoneOf(jar.get(ZONE_COOKIE)?.value)}>{children}</ZoneProvider>
        </ThemeProvider>
      </body>
    </html>
  )
}

const themeOf = (text: string | undefined): Theme => (text === 'light' || text === 'dark' ? text : 'system')

/** A cookie is whatever somebody put there: only a zone that this server knows is one. */
function zoneOf(text: string | undefined): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text ?? 'UTC' }).resolvedOptions().timeZone
  } catch {
    return 'UTC'
  }
}
