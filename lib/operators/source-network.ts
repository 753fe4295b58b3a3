// Which network a request comes from, as coarsely as one party holds addresses: a /24 of IPv4, a /48 of IPv6. Proxies
// append the address that they were asked from to X-Forwarded-For, and our own server does the same. What lies on private
// addresses at its end are our proxies; the address before them is the source, and what stands before that is hearsay.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

const PRIVATE = new BlockList()
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv4')
PRIVATE.addAddress('::1', 'ipv6')
PRIVATE.addSubnet('fc00::', 7, 'ipv6')
PRIVATE.addSubnet('fe80::', 10, 'ipv6')

export function networkOf(headers: Headers): string {
  const addresses = (headers.get('x-forwarded-for') ?? '').split(',').map(plainAddress)
  const source = addresses.findLast((address) => !isPrivate(address)) ?? addresses[0]!
  return blockOf(source)
}

/** Without brackets and port, and as IPv4 where it is that. */
function plainAddress(written: string): string {
  const address = written.trim().toLowerCase()
  return address
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^::ffff:(?=\d+\.)/, '')
}

const isPrivate = (address: string): boolean =>
  (isIPv4(address) && PRIVATE.check(address, 'ipv4')) || (isIPv6(address) && PRIVATE.check(address, 'ipv6'))

function blockOf(address: string): string {
  if (isIPv4(address)) return address.split('.').slice(0, 3).join('.')
  if (!isIPv6(address)) return 'unknown'
  const [head = '', tail] = address.split('::')
  const groups = head ? head.split(':') : []
  const last = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array<string>(8 - groups.length - last.length).fill('0')
  return [...groups, ...zeros, ...last]
    .slice(0, 3)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}
