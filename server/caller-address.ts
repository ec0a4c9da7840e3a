import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/**
 * Reads the caller's address of a request: the peer's, or with N trusted proxies in front the Nth from the right
 * of `X-Forwarded-For`. What stands further left was written by the caller and is never believed; a chain that is
 * shorter than configured or holds no address counts as the peer's.
 */
export function callerAddress(trustedProxies: number): (request: IncomingMessage) => string {
  return (request) => {
    const peer = request.socket.remoteAddress ?? 'unknown'
    if (trustedProxies === 0) return peer
    const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    const address = forwarded.at(-trustedProxies)?.trim() ?? ''
    return isIP(address) ? address : peer
  }
}
