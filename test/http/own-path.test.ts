import { describe, expect, it } from 'vitest'
import { ownPath } from '../../lib/http/own-path'

const OURS = 'https://console.example'

describe('the redirect after a sign-in', () => {
  it.each(['/', '/keys', '/keys?state=unknown&q=a%20b#top', '/keys/idem_1?from=%2Fkeys'])(
    'goes to the requested path %s',
    (path) => {
      expect(ownPath(path)).toBe(path)
    },
  )

  it.each([
    'https://elsewhere.example/',
    '//elsewhere.example/keys',
    '/\\elsewhere.example',
    '\\\\elsewhere.example',
    '/\t/elsewhere.example',
    '/\n/elsewhere.example',
    ' //elsewhere.example',
    'javascript:alert(1)',
    'keys',
    '',
    null,
    undefined,
    ['/keys'],
  ])('goes to / for %j, which is not a path of this site', (wanted) => {
    expect(ownPath(wanted)).toBe('/')
  })

  it('stays on this site, as a browser resolves it, for misleading paths', () => {
    for (const wanted of ['/./ /x', '/@elsewhere.example', '/..//elsewhere.example', '/%2f%2felsewhere.example'])
      expect(new URL(ownPath(wanted), OURS).origin).toBe(OURS)
  })
})
