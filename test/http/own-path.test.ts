import { describe, expect, it } from 'vitest'
import { ownPath } from '../../lib/http/own-path'

const OURS = 'https://console.example'

describe('after a sign-in', () => {
  it.each(['/', '/keys', '/keys?state=unknown&q=a%20b#top', '/keys/idem_1?from=%2Fkeys'])(
    '%s is led back to',
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
  ])('%j is not: it could be another site', (wanted) => {
    expect(ownPath(wanted)).toBe('/')
  })

  it('whatever is led back to is on this site, as a browser reads it', () => {
    for (const wanted of ['/./ /x', '/@elsewhere.example', '/..//elsewhere.example', '/%2f%2felsewhere.example'])
      expect(new URL(ownPath(wanted), OURS).origin).toBe(OURS)
  })
})
