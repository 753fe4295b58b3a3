// What browsers may do with our answers: as little as possible. A page that is rendered for somebody runs the scripts
// that carry its own nonce and what those load; a public page, which is the same for everybody, runs one script that is
// known by its hash; an answer of the API is no page at all.
import { createHash } from 'node:crypto'

export const API_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
} as const

/** Applies the theme that the reader chose in the console. It is the only script of a public page. */
export const THEME_SCRIPT =
  'const chosen=/(?:^|; )onceover\\.theme=(light|dark)/.exec(document.cookie);if(chosen)document.documentElement.dataset.theme=chosen[1]'
const THEME_HASH = `'sha256-${createHash('sha256').update(THEME_SCRIPT).digest('base64')}'`

/** The pages that are rendered at build time. */
export const isPublicPage = (path: string): boolean => /^\/docs(?:\/|$)/.test(path)

const EVERY_PAGE = [
  "default-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
]

/**
 * Styles may be set on an element by its own attribute, which charts and menus do to place things; a style sheet has
 * to be ours. Nothing is upgraded to https: people run this on http://localhost. The theme's hash is for the page that
 * says that there is nothing: it is rendered at build time, and its address can be any.
 */
export function pagePolicy(nonce: string, development: boolean): string {
  // In development React evaluates code to show where an error came from, and Next's own tools bring their styles.
  const scripts = `'nonce-${nonce}' 'strict-dynamic' ${THEME_HASH}${development ? " 'unsafe-eval'" : ''}`
  const styles = development ? "'unsafe-inline'" : `'nonce-${nonce}'`
  return [
    ...EVERY_PAGE,
    `script-src 'self' ${scripts}`,
    `style-src 'self' ${styles}`,
    "style-src-attr 'unsafe-inline'",
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

export const PUBLIC_PAGE_HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': [...EVERY_PAGE, `script-src ${THEME_HASH}`, "style-src 'self'"].join('; '),
  'cache-control': 'public, max-age=300',
} as const
