// What browsers may do with our answers: as little as possible. A page runs the scripts that carry its own nonce and
// what those load, and nothing else; an answer of the API is no page at all.

export const API_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
} as const

/**
 * Styles may be set on an element by its own attribute, which charts and menus do to place things; a style sheet has
 * to be ours. Nothing is upgraded to https: people run this on http://localhost.
 */
export function pagePolicy(nonce: string, development: boolean): string {
  // In development React evaluates code to show where an error came from, and Next's own tools bring their styles.
  const scripts = `'nonce-${nonce}' 'strict-dynamic'${development ? " 'unsafe-eval'" : ''}`
  const styles = development ? "'unsafe-inline'" : `'nonce-${nonce}'`
  return [
    "default-src 'self'",
    `script-src 'self' ${scripts}`,
    `style-src 'self' ${styles}`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}

export const PAGE_HEADERS = {
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // Not `no-referrer`: with that, our own forms would come from an origin called null.
  'referrer-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()',
  'cross-origin-opener-policy': 'same-origin',
} as const
