import { isIP, isIPv4, isIPv6 } from 'node:net'
import { ipv6Groups } from './network.ts'

export interface RequestLike {
  socket: { readonly remoteAddress?: string | undefined }
  headers: { readonly [name: string]: string | string[] | undefined }
}

/** Some proxies append the port of the client. */
const WITH_PORT = /^(?:([\d.]+)|\[([^\]]+)\]):\d{1,5}$/

/**
 * Determines the client's address of a request: the peer's, or with N trusted proxies the Nth entry from the
 * right of `X-Forwarded-For`. Entries further left come from the client and are never trusted; with a shorter
 * or invalid list the peer's address is used.
 */
export function clientIp(trustedProxies: number): (call: RequestLike) => string {
  return (call) => {
    const peer = call.socket.remoteAddress ?? 'unknown'
    if (trustedProxies === 0) return peer
    const forwarded = readForwardedFor(call)
    const entry = forwarded.at(-trustedProxies)?.trim() ?? ''
    const address = entry.replace(WITH_PORT, '$1$2')
    return isIP(address) ? address : peer
  }
}

export function readForwardedFor({ headers }: Pick<RequestLike, 'headers'>): string[] {
  const text = [headers['x-forwarded-for'] ?? []].flat().join(',')
  return text === '' ? [] : text.split(',')
}

/** The first 24 bits of an IPv4 address, or 48 bits of an IPv6 address: a network, not a person. */
export function shortenAddress(address: string): string {
  const network = rateLimitSubnet(address)
  if (isIPv6(network.replace('/64', ''))) return `${network.split(':').slice(0, 3).join(':')}::/48`
  return isIPv4(network) ? `${network.split('.').slice(0, 3).join('.')}.0/24` : 'unknown'
}

/** The network that counts as one caller: an IPv4 address, or an IPv6 /64. */
export function rateLimitSubnet(address: string): string {
  if (!address.includes(':')) return address
  const bare = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '').replace(/%.*/s, '')
  if (!isIPv6(bare)) return bare
  const all = ipv6Groups(bare)
  if (all.slice(0, 6).join() === '0,0,0,0,0,65535')
    return all
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  const groups = all.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}
