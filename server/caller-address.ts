import { isIP } from 'node:net'

/** A request, as far as its caller's address can be read from it. */
export interface Call {
  socket: { readonly remoteAddress?: string | undefined }
  headers: { readonly [name: string]: string | string[] | undefined }
}

/**
 * Reads the caller's address of a request: the peer's, or with N trusted proxies in front the Nth from the right
 * of `X-Forwarded-For`. What stands further left was written by the caller and is never believed; a chain that is
 * shorter than configured or holds no address counts as the peer's.
 */
export function callerAddress(trustedProxies: number): (call: Call) => string {
  return (call) => {
    const peer = call.socket.remoteAddress ?? 'unknown'
    if (trustedProxies === 0) return peer
    const forwarded = [call.headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    const address = forwarded.at(-trustedProxies)?.trim() ?? ''
    return isIP(address) ? address : peer
  }
}
