// Whether a request comes from one of our own pages. Browsers say so by themselves, and a page of another site can't
// make them say otherwise.

export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = request.headers.get('origin')
  if (origin === null) return site === 'same-origin'
  const host = request.headers.get('x-forwarded-host') ?? request.headers.get('host')
  return URL.canParse(origin) && new URL(origin).host === host
}

/** Says itself that it comes from elsewhere, which every browser does. A program that is no browser says nothing. */
export const isCrossOrigin = (request: Request): boolean =>
  (request.headers.has('origin') || request.headers.has('sec-fetch-site')) && !isSameOrigin(request)
