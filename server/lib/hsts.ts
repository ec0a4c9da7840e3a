import { isPrivateUrl } from '../../protocol/private-url.ts'

/** Browsers use only HTTPS for the host, for a year (RFC 6797, 6.1). Other hosts of the domain are not included. */
export const HSTS = ['Strict-Transport-Security', 'max-age=31536000'] as const

/**
 * Whether hosts of a service may send it. Not of private networks, where a certificate may not last, and not with a
 * port in the base URL: browsers would use HTTPS on the HTTP port too (RFC 6797, 8.3).
 */
export function maySendHsts(baseUrl: string): boolean {
  const { protocol, port } = new URL(baseUrl)
  return protocol === 'https:' && port === '' && !isPrivateUrl(baseUrl)
}
