// Whether a request comes from one of our own pages. Browsers say so by themselves, and a page of another site can't
// make them say otherwise.

export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = request.headers.get('origin')
  if (origin === null) return site === 'same-origin'
  // Of a row of proxies, the first one says what the browser asked for.
  const forwarded = request.headers.get('x-forwarded-host')?.split(',', 1)[0]?.trim()
  return URL.canParse(origin) && [forwarded, request.headers.get('host')].includes(new URL(origin).host)
}

/** Says itself that it comes from elsewhere, which every browser does. A program that is no browser says nothing. */
export const isCrossOrigin = (request: Request): boolean =>
  (request.headers.has('origin') || request.headers.has('sec-fetch-site')) && !isSameOrigin(request)
