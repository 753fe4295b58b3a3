import { describe, expect, it } from 'vitest'
import { pagePolicy } from '../../lib/http/security-headers'
import { config } from '../../proxy'

const directives = (policy: string) =>
  Object.fromEntries(policy.split('; ').map((directive) => [directive.split(' ')[0], directive] as const))

describe('the Content-Security-Policy of a page', () => {
  it('forbids eval, and allows inline scripts and styles only with the nonce', () => {
    const policy = directives(pagePolicy('n1', false))
    expect(policy['script-src']).toMatch(/^script-src 'self' 'nonce-n1' 'strict-dynamic' 'sha256-[\w+/]{43}='$/)
    expect(policy['style-src']).toBe("style-src 'self' 'nonce-n1'")
    expect(Object.keys(policy).sort()).toEqual(
      [
        'base-uri',
        'connect-src',
        'default-src',
        'font-src',
        'form-action',
        'frame-ancestors',
        'img-src',
        'object-src',
        'script-src',
        'style-src',
        'style-src-attr',
      ].sort(),
    )
  })

  it('allows eval and inline styles in development, but no script without the nonce', () => {
    const policy = directives(pagePolicy('n1', true))
    expect(policy['script-src']).toMatch(/ 'nonce-n1' 'strict-dynamic' 'sha256-[^']+' 'unsafe-eval'$/)
    expect(policy['style-src']).toBe("style-src 'self' 'unsafe-inline'")
  })
})

describe('the proxy', () => {
  const matches = (path: string) => new RegExp(`^${config.matcher}$`).test(path)

  it.each(['/', '/docs', '/docs/problems/forbidden', '/apiary', '/icon.svgs', '/keys/idem_1'])(
    'handles the path %s',
    (path) => expect(matches(path)).toBe(true),
  )
  it.each(['/api/orders', '/api/admin/tenants', '/_next/static/chunks/a.js', '/icon.svg'])(
    'does not handle the path %s',
    (path) => expect(matches(path)).toBe(false),
  )
})
