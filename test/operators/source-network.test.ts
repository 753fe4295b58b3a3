// Which network a sign-in comes from, by what proxies and our own server wrote down.
import { describe, expect, it } from 'vitest'
import { networkOf } from '../../lib/operators/source-network'

const of = (forwarded?: string) =>
  networkOf(new Headers(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }))

describe('the source network', () => {
  it.each([
    ['203.0.113.9', '203.0.113'],
    ['203.0.113.200', '203.0.113'],
    ['::ffff:203.0.113.9', '203.0.113'],
    ['203.0.113.9:51000', '203.0.113'],
    ['2001:db8:1:2::9', '2001:db8:1'],
    ['2001:DB8:1:fffe::1', '2001:db8:1'],
    ['[2001:db8:1::9]:443', '2001:db8:1'],
    ['2001::3:4:5:6:7:8', '2001:0:3'],
    ['2001:db8::', '2001:db8:0'],
  ])('of %s is %s', (address, network) => {
    expect(of(address)).toBe(network)
  })

  it.each([
    ['a client behind a proxy on a private address', '198.51.100.7, 10.0.0.3', '198.51.100'],
    ['a client behind two proxies', '198.51.100.7, 10.0.0.4, 127.0.0.1', '198.51.100'],
    ['a client that names another address', '192.0.2.1, 198.51.100.7, ::1', '198.51.100'],
    ['a client that speaks to us directly and names another address', '192.0.2.1, 198.51.100.7', '198.51.100'],
    ['a client within the private network', '10.1.2.3, 10.9.9.9', '10.1.2'],
    ['this machine', '::1', '0:0:0'],
  ])('of %s is the last address that is not a proxy of ours', (_, forwarded, network) => {
    expect(of(forwarded)).toBe(network)
  })

  it.each([undefined, '', 'unknown', '_hidden, 10.0.0.1x', '999.1.1.1'])('of %j is unknown', (forwarded) => {
    expect(of(forwarded)).toBe('unknown')
  })
})
