// What a browser holds of its session: the token and our signature under it, as better-auth writes it. No script reads
// it, no other site's form sends it, and how long it is good is the store's business: it has no end of its own. Beside it
// the browser keeps a device cookie, which outlives the session: that somebody signed in here before.
import { createHmac, randomBytes } from 'node:crypto'
import { parseCookies } from 'better-auth/cookies'
import { sameSecret } from '../secret'

export const SESSION_COOKIE = 'onceover.session_token'
const DEVICE_COOKIE = 'onceover.device'

/** Browsers keep none for longer. It is made anew at each sign-in. */
const DEVICE_SECONDS = 400 * 86_400

/** In the form that Next's `cookies().set` takes; the value is encoded by whoever writes it out. */
export interface OwnCookie {
  name: string
  value: string
  httpOnly: true
  sameSite: 'lax'
  path: '/'
  secure: boolean
  /** In seconds; zero where it is to be forgotten. */
  maxAge?: number
}

const hmac = (text: string, secret: string): string => createHmac('sha256', secret).update(text).digest('base64')

/** Null without a cookie, and for one that we did not sign. */
export const tokenOf = (headers: Headers, secret: string): string | null =>
  unsigned(cookieOf(headers), (token) => hmac(token, secret))

export const cookieOf = (headers: Headers): string | undefined => cookieNamed(headers, SESSION_COOKIE)

const cookieNamed = (headers: Headers, name: string): string | undefined =>
  parseCookies(headers.get('cookie') ?? '').get(name)

function unsigned(value = '', signatureOf: (content: string) => string): string | null {
  const end = value.lastIndexOf('.')
  if (end < 1) return null
  const content = value.slice(0, end)
  return sameSecret(value.slice(end + 1), signatureOf(content)) ? content : null
}

const attributes = (headers: Headers) =>
  ({ httpOnly: true, sameSite: 'lax', path: '/', secure: isServedByHttps(headers) }) as const

export const sessionCookie = (token: string, secret: string, headers: Headers): OwnCookie => ({
  name: SESSION_COOKIE,
  value: `${token}.${hmac(token, secret)}`,
  ...attributes(headers),
})

export const forgottenCookie = (headers: Headers): OwnCookie => ({
  name: SESSION_COOKIE,
  value: '',
  ...attributes(headers),
  maxAge: 0,
})

export const hasDevice = (headers: Headers): boolean => cookieNamed(headers, DEVICE_COOKIE) !== undefined

/** The address is signed and not told; no signature of one cookie fits the other. */
const deviceSignature = (email: string, secret: string) => (device: string) =>
  hmac(`device\n${email.toLowerCase()}\n${device}`, secret)

/** The browser's own name, where somebody signed in there with this address before. */
export const deviceOf = (headers: Headers, email: string, secret: string): string | null =>
  unsigned(cookieNamed(headers, DEVICE_COOKIE), deviceSignature(email, secret))

export function deviceCookie(headers: Headers, email: string, secret: string): OwnCookie {
  const device = deviceOf(headers, email, secret) ?? randomBytes(16).toString('hex')
  return {
    name: DEVICE_COOKIE,
    value: `${device}.${deviceSignature(email, secret)(device)}`,
    ...attributes(headers),
    maxAge: DEVICE_SECONDS,
  }
}

/** TLS ends in front of us: the proxy says so, or else the page that sends the form. */
const isServedByHttps = (headers: Headers): boolean =>
  headers.get('x-forwarded-proto')?.split(',', 1)[0]?.trim() === 'https' ||
  (headers.get('origin')?.startsWith('https://') ?? false)
