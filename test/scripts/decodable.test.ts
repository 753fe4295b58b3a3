// Whatever a client sends as a path, Next gets one that it can decode.
import { expect, it } from 'vitest'
import { decodable } from '../../scripts/decodable'

it.each(['/api/orders', '/api/keys/a%20b?endpoint=POST%20/x', '/%E2%82%AC', '/?q=%E0%A4%A', '/a?b?c'])(
  'decodable() leaves %s as it is',
  (url) => {
    expect(decodable(url)).toBe(url)
  },
)

it.each([
  ['/api/keys/0123%E0%A4%A', '/api/keys/0123%25E0%25A4%25A'],
  ['/100%?q=%20', '/100%25?q=%20'],
  ['/%FF?a?b', '/%25FF?a?b'],
])('decodable() escapes the percent signs in the path of %s', (url, literal) => {
  expect(decodable(url)).toBe(literal)
  expect(() => decodeURIComponent(decodable(url))).not.toThrow()
})
