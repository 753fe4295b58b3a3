// Whether a request comes from one of our own pages. Browsers say so by themselves, and a page of another site can't
// make them say otherwise.

export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = request.headers.get('origin')
  if (origin === null) return site === 'same-origin'
  return (
    URL.canParse(origin) && [forwarded(request, 'host'), request.headers.get('host')].includes(new URL(origin).host)
  )
}

/** Of a row of proxies, the first one says what was asked for. */
const forwarded = (request: Request, what: 'host' | 'proto'): string | undefined =>
  request.headers.get(`x-forwarded-${what}`)?.split(',', 1)[0]?.trim()

/** Where a request says that it found us. */
export function originOf(request: Request): string {
  const scheme = forwarded(request, 'proto') === 'https' ? 'https' : 'http'
  const host = forwarded(request, 'host') ?? request.headers.get('host')
  const address = `${scheme}://${host}`
  return host && URL.canParse(address) ? new URL(address).origin : new URL(request.url).origin
}

/** Says itself that it comes from elsewhere, which every browser does. A program that is no browser says nothing. */
export const isCrossOrigin = (request: Request): boolean =>
  (request.headers.has('origin') || request.headers.has('sec-fetch-site')) && !isSameOrigin(request)
