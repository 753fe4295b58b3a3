import { describe, expect, it } from 'vitest'
import { isCrossOrigin, isSameOrigin } from '../../lib/http/origin'

const HOST = 'console.example.com'
const from = (headers: Record<string, string>) => new Request('http://inner:3000/', { method: 'POST', headers })

describe('a request from our own pages', () => {
  it.each([
    ['its host', { host: HOST }],
    ['a proxy', { host: 'inner:3000', 'x-forwarded-host': HOST }],
    ['the first of two proxies', { host: 'inner:3000', 'x-forwarded-host': `${HOST}, between:8080` }],
    ['its host, behind a proxy that names itself', { host: HOST, 'x-forwarded-host': 'between:8080' }],
  ])('is same-origin by %s', (_, headers) => {
    const request = from({ origin: `https://${HOST}`, ...headers })
    expect([isSameOrigin(request), isCrossOrigin(request)]).toEqual([true, false])
  })
})

describe('a request from elsewhere', () => {
  it.each([
    ['another site', { origin: 'https://evil.example', host: HOST }],
    ['a page without an origin', { origin: 'null', host: HOST }],
    ['another site, by Sec-Fetch-Site', { origin: `https://${HOST}`, host: HOST, 'sec-fetch-site': 'cross-site' }],
    [
      'the second of two proxies',
      { origin: 'https://between:8080', host: HOST, 'x-forwarded-host': `${HOST}, between:8080` },
    ],
  ])('is cross-origin: %s', (_, headers) => {
    const request = from(headers)
    expect([isSameOrigin(request), isCrossOrigin(request)]).toEqual([false, true])
  })

  it('without an Origin header is neither same-origin nor cross-origin', () => {
    expect([isSameOrigin(from({ host: HOST })), isCrossOrigin(from({ host: HOST }))]).toEqual([false, false])
  })
})
