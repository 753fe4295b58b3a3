// Around every page: fonts, styles, language and what a title looks like. Each part of the site has a root layout of its
// own made of this, because public pages are rendered at build time and the others for the person who asks.
import { GeistMono } from 'geist/font/mono'
import { GeistSans } from 'geist/font/sans'
import type { Metadata, Viewport } from 'next'
import { cookies, headers } from 'next/headers'
import type { ReactNode } from 'react'
import { THEME_SCRIPT } from '../../lib/http/security-headers'
import '../globals.css'
import { Nonce } from './nonce'
import { THEME_COOKIE, type Theme, ZONE_COOKIE } from './preferences'
import { ThemeProvider } from './theme'
import { ZoneProvider } from './zone'

export const siteMetadata: Metadata = {
  title: { default: 'Onceover', template: '%s · Onceover' },
  description: 'An idempotency layer for payment APIs: what is sent twice is carried out once.',
  manifest: '/manifest.webmanifest',
}

export const siteViewport: Viewport = {
  colorScheme: 'light dark',
  themeColor: [
    { media: '(prefers-color-scheme: light)', color: '#ffffff' },
    { media: '(prefers-color-scheme: dark)', color: '#111215' },
  ],
}

const FONTS = `${GeistSans.variable} ${GeistMono.variable}`

/** The same for every reader. Its only script applies the reader's theme (scripts/public-pages.ts removes Next's). */
export const PublicDocument = ({ children }: { children: ReactNode }) => (
  <html lang="en" className={FONTS}>
    <head>
      <script>{THEME_SCRIPT}</script>
    </head>
    <body>{children}</body>
  </html>
)

/** Reads the request, so the page is rendered for each: its scripts carry the nonce of this one answer. */
export async function PersonalDocument({ children }: { children: ReactNode }) {
  const [sent, jar] = await Promise.all([headers(), cookies()])
  const theme = themeOf(jar.get(THEME_COOKIE)?.value)
  return (
    <html lang="en" className={FONTS} data-theme={theme === 'system' ? undefined : theme}>
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
