// What a browser holds of its session: the token and our signature under it, as better-auth writes it. No script reads
// it, no other site's form sends it, and how long it is good is the store's business: it has no end of its own.
import { createHmac } from 'node:crypto'
import { parseCookies } from 'better-auth/cookies'
import { sameSecret } from '../secret'

export const SESSION_COOKIE = 'onceover.session_token'

/** In the form that Next's `cookies().set` takes; the value is encoded by whoever writes it out. */
export interface SessionCookie {
  name: string
  value: string
  httpOnly: true
  sameSite: 'lax'
  path: '/'
  secure: boolean
  /** Zero where it is to be forgotten. */
  maxAge?: 0
}

const signature = (token: string, secret: string): string => createHmac('sha256', secret).update(token).digest('base64')

/** Null without a cookie, and for one that we did not sign. */
export function tokenOf(headers: Headers, secret: string): string | null {
  const value = cookieOf(headers) ?? ''
  const end = value.lastIndexOf('.')
  if (end < 1) return null
  const token = value.slice(0, end)
  return sameSecret(value.slice(end + 1), signature(token, secret)) ? token : null
}

export const cookieOf = (headers: Headers): string | undefined =>
  parseCookies(headers.get('cookie') ?? '').get(SESSION_COOKIE)

const attributes = (headers: Headers) =>
  ({ httpOnly: true, sameSite: 'lax', path: '/', secure: isServedByHttps(headers) }) as const

export const sessionCookie = (token: string, secret: string, headers: Headers): SessionCookie => ({
  name: SESSION_COOKIE,
  value: `${token}.${signature(token, secret)}`,
  ...attributes(headers),
})

export const forgottenCookie = (headers: Headers): SessionCookie => ({
  name: SESSION_COOKIE,
  value: '',
  ...attributes(headers),
  maxAge: 0,
})

/** TLS ends in front of us: the proxy says so, or else the page that sends the form. */
const isServedByHttps = (headers: Headers): boolean =>
  headers.get('x-forwarded-proto')?.split(',', 1)[0]?.trim() === 'https' ||
  (headers.get('origin')?.startsWith('https://') ?? false)
