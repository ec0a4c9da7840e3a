import { isPrivateUrl } from '../../protocol/private-url.ts'

/** Browsers use only HTTPS for the host, for a year (RFC 6797, 6.1). Other hosts of the domain are not included. */
export const HSTS = ['Strict-Transport-Security', 'max-age=31536000'] as const

/** Not for private hosts, whose certificate may not last, nor with a port: HTTPS would use that too (RFC 6797, 8.3). */
export function maySendHsts(baseUrl: string): boolean {
  const { protocol, port } = new URL(baseUrl)
  return protocol === 'https:' && port === '' && !isPrivateUrl(baseUrl)
}
