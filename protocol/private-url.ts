/** Loopback, private, link-local, shared and unspecified addresses, as `URL` writes them (RFC 1918, 3927, 6598). */
const PRIVATE_IPV4 =
  /^(?:0|10|127)\.|^192\.168\.|^169\.254\.|^172\.(?:1[6-9]|2\d|3[01])\.|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./

/** Loopback, unspecified, unique local and link-local addresses, as `URL` writes them (RFC 4193, 4291). */
const PRIVATE_IPV6 = /^(?:::1?|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)$/

/** An IPv4 address in IPv6, as `URL` writes it. */
const MAPPED_IPV4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/** Names of private networks (RFC 6761, RFC 6762, RFC 8375, and what ICANN and routers reserve or use). */
const PRIVATE_NAME =
  /^[^.]+$|\.(?:local|localhost|test|internal|intranet|private|corp|home|lan|localdomain|home\.arpa)$/

/**
 * Whether the host of a URL is of this machine or of a private network by its spelling: a private address, or a name
 * that the public DNS does not have. A public name whose address is private is not recognized.
 */
export function isPrivateUrl(url: string): boolean {
  const { hostname } = new URL(url)
  if (hostname.startsWith('[')) return isPrivateIpv6(hostname.slice(1, -1))
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(hostname)
  return isAddress ? PRIVATE_IPV4.test(hostname) : PRIVATE_NAME.test(hostname.replace(/\.$/, ''))
}

function isPrivateIpv6(address: string): boolean {
  const [, high, low] = MAPPED_IPV4.exec(address) ?? []
  if (high === undefined || low === undefined) return PRIVATE_IPV6.test(address)
  const bytes = [high, low].flatMap((group) => [
    Number.parseInt(group, 16) >> 8,
    Number.parseInt(group, 16) & 255,
  ])
  return PRIVATE_IPV4.test(bytes.join('.'))
}
