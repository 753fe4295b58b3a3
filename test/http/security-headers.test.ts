import { describe, expect, it } from 'vitest'
import { pagePolicy } from '../../lib/http/security-headers'
import { config } from '../../proxy'

const directives = (policy: string) =>
  Object.fromEntries(policy.split('; ').map((directive) => [directive.split(' ')[0], directive] as const))

describe('the policy of a page', () => {
  it('lets nothing be evaluated, and nothing inline run or be styled without the nonce', () => {
    const policy = directives(pagePolicy('n1', false))
    expect(policy['script-src']).toBe("script-src 'self' 'nonce-n1' 'strict-dynamic'")
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

  it('gives development what its tools need, and not one script without the nonce', () => {
    const policy = directives(pagePolicy('n1', true))
    expect(policy['script-src']).toBe("script-src 'self' 'nonce-n1' 'strict-dynamic' 'unsafe-eval'")
    expect(policy['style-src']).toBe("style-src 'self' 'unsafe-inline'")
  })
})

describe('the proxy', () => {
  const matches = (path: string) => new RegExp(`^${config.matcher}$`).test(path)

  it.each(['/', '/docs', '/docs/problems/forbidden', '/apiary', '/icon.svgs', '/keys/idem_1'])(
    'is asked about %s',
    (path) => expect(matches(path)).toBe(true),
  )
  it.each(['/api/orders', '/api/admin/tenants', '/_next/static/chunks/a.js', '/icon.svg'])(
    'is not asked about %s',
    (path) => expect(matches(path)).toBe(false),
  )
})
