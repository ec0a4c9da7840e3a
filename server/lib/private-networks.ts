import { BlockList, isIP } from 'node:net'

/** Loopback, RFC 1918, RFC 4193 and link-local addresses. */
export const PRIVATE_NETWORKS = [
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  'fc00::/7',
  'fe80::/10',
]

/** Addresses that no public service has, either: any of this machine, and those behind a carrier or an overlay (RFC 6598). */
const SHARED_NETWORKS = ['0.0.0.0/8', '::/128', '100.64.0.0/10']

/** Names of private networks (RFC 6761, RFC 6762, RFC 8375, and what ICANN and routers reserve or use). */
const PRIVATE_NAME =
  /^[^.]+$|\.(local|localhost|test|internal|intranet|private|corp|home|lan|localdomain|home\.arpa)$/

/**
 * Whether the host of a URL is of this machine or of a private network by its spelling: a private address, or a name
 * that the public DNS does not have. A public name whose address is private is not recognized.
 */
export function isPrivateUrl(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$|\.$/g, '')
  const version = isIP(host)
  return version === 0
    ? PRIVATE_NAME.test(host)
    : privateAddresses().check(host, version === 4 ? 'ipv4' : 'ipv6')
}

function privateAddresses(): BlockList {
  const list = new BlockList()
  for (const network of [...PRIVATE_NETWORKS, ...SHARED_NETWORKS]) {
    const [address = '', prefix] = network.split('/')
    list.addSubnet(address, Number(prefix), isIP(address) === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}
